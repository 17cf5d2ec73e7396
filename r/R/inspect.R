# What the columns of files hold, and likely mistakes.

inspect <- function(data, sites = NULL, decimal = NULL, missing_codes = NULL, separator = NULL) {
  is_frame <- is.data.frame(data)
  if (!is_frame && (!is.character(data) || !length(data)))
    refuse("data is of class ", class(data)[1L], ", but must be a data frame, or the paths of files, one a site")
  if (is_frame) {
    if (!nrow(data)) refuse("data has no rows", status = "bad-data")
    found <- describe_sites(data, substitute(sites), parent.frame())
    site <- found$site
    paths <- tempfile(fileext = ".csv")
    on.exit(unlink(paths))
    writeLines(csv_lines(found$data), paths, useBytes = TRUE)
    separator <- "comma"
  } else {
    site <- sites
    paths <- path.expand(data)
  }
  made <- .Call(C_inspect, paths, list(site, decimal, comma_list(missing_codes), separator))
  columns <- as.data.frame(made$columns, stringsAsFactors = FALSE)
  columns <- columns[c("column", "site", setdiff(names(columns), c("column", "site", "levels")), "levels")]
  problems <- made$problems
  if (is_frame) problems <- sub("^[0-9]+: ", "", sub(paste0(paths, ":"), "", problems, fixed = TRUE))
  structure(list(columns = columns, problems = problems), class = "fedplt_inspection")
}

print.fedplt_inspection <- function(x, digits = 4, ...) {
  shown <- x$columns
  shown$site[is.na(shown$site)] <- "all"
  numbers <- shown[shown$words == 0, setdiff(names(shown), c("numbers", "words", "levels"))]
  words <- shown[shown$words > 0, c("column", "site", "rows", "missing", "numbers", "levels")]
  if (nrow(numbers)) print(numbers, digits = digits, row.names = FALSE)
  if (nrow(words)) print(words, right = FALSE, row.names = FALSE)
  wrapped <- lapply(x$problems, strwrap, width = 0.9 * getOption("width"), initial = "- ", prefix = "  ")
  if (length(wrapped)) cat("Likely mistakes:", unlist(wrapped), sep = "\n")
  invisible(x)
}

as.data.frame.fedplt_inspection <- function(x, ...) x$columns
