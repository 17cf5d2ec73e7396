# Settings of the library from values of R.

as_setting_text <- function(value) {
  if (is.logical(value)) return(paste(ifelse(value, "yes", "no"), collapse = ","))
  if (is.numeric(value)) return(paste(vapply(value, format_number, ""), collapse = ","))
  words <- gsub("([\\\\,=])", "\\\\\\1", as.character(value))
  if (length(value) == 1L) as.character(value) else paste(words, collapse = ",")
}

# The shortest decimal that reads back as the same number.
format_number <- function(x) {
  for (digits in 15:17) {
    text <- formatC(x, digits = digits, width = 1, format = "g")
    if (identical(as.numeric(text), as.numeric(x))) break
  }
  text
}

# One value as the glue takes it: a switch, a number, or text.
as_setting <- function(value, origin) {
  if (length(value) == 0L || anyNA(value)) refuse(origin, " is ", deparse(value), ", but a setting needs a value")
  if (length(value) > 1L) return(as_setting_text(value))
  if (is.logical(value) || is.numeric(value)) return(as.vector(unclass(value)))
  as.character(value)
}

# name_of_argument to the library's name-of-setting.
setting_name <- function(argument) gsub("_", "-", argument, fixed = TRUE)

# values: a named list; NULL is not given. origins: what messages call each of them.
make_settings <- function(values, origins = names(values), own_data = TRUE, kind = "train") {
  force(origins)
  present <- !vapply(values, is.null, NA)
  values <- values[present]
  origins <- origins[present]
  taken <- Map(as_setting, values, origins)
  .Call(C_settings, names(values), vapply(values, as_setting_text, ""), unname(taken), origins, kind, own_data)
}

fedplt_settings <- function(algorithm = NULL) {
  pointer <- make_settings(list(algorithm = algorithm), own_data = FALSE)
  as.data.frame(.Call(C_settings_rows, pointer), stringsAsFactors = FALSE)
}

fedplt_version <- function() .Call(C_version)

fedplt_control <- function(algorithm = NULL, solver = NULL, epochs = NULL, rho = NULL, step = NULL, rounds = 1000,
                           tol = 1e-10, participation = NULL, active = NULL, threads = 1, seed = 0, start = NULL,
                           callback = NULL, trace = FALSE, model = TRUE, ...) {
  if (!is.numeric(tol) || length(tol) != 1L || is.na(tol) || tol < 0)
    refuse("tol is ", deparse(tol), ", but must be a number of at least 0")
  if (!is.null(callback) && !is.function(callback))
    refuse("callback is of class ", class(callback)[1L], ", but must be a function(round, criterion)")
  if (!is.null(start) && (!is.numeric(start) || anyNA(start)))
    refuse("start must be a vector of numbers, one for each coefficient")
  settings <- list(...)
  if (length(settings) && (is.null(names(settings)) || any(names(settings) == "")))
    refuse("every setting in ... must have a name; fedplt_settings() lists them")
  structure(list(algorithm = algorithm, solver = solver, epochs = epochs, rho = rho, step = step, rounds = rounds,
                 tol = tol, participation = participation, active = active, threads = threads, seed = seed,
                 start = start, callback = callback, trace = isTRUE(trace), model = isTRUE(model),
                 settings = settings),
            class = "fedplt_control")
}

print.fedplt_control <- function(x, ...) {
  given <- Filter(Negate(is.null), unclass(x)[setdiff(names(x), c("settings", "callback", "instead"))])
  cat("Settings of a training:", paste(names(given), vapply(given, as_setting_text, ""), sep = " = ", collapse = ", "), "\n")
  if (length(x$settings))
    cat("Further settings:", paste(names(x$settings), vapply(x$settings, as_setting_text, ""), sep = " = ",
                                   collapse = ", "), "\n")
  invisible(x)
}

# What a person's function and `trace` become.
observer_of <- function(control) {
  callback <- control$callback
  if (!control$trace && is.null(callback)) return(NULL)
  guarded(function(round, criterion) {
    if (control$trace && !is.na(criterion))
      message("round ", round, ": squared gradient norm ", format(criterion, digits = 4))
    if (is.null(callback)) FALSE else isTRUE(callback(round, criterion))
  })
}
