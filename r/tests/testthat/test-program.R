# The same settings give the same bits as the command line.
test_that("explicit settings give the bits of fedplt train", {
  program <- Sys.getenv("FEDPLT_PROGRAM")
  if (!nzchar(program)) skip("the program is not known: FEDPLT_PROGRAM is not set")
  d <- generated()
  d <- d[!is.na(d$x), c("x", "z", "w", "y", "site")]
  folder <- tempfile("fedplt")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "rows.csv")
  written <- d
  for (name in c("x", "z")) written[[name]] <- sprintf("%.17g", d[[name]])
  write.csv(written, file, row.names = FALSE, quote = FALSE)
  cases <- list(list(algorithm = "fed-plt", epochs = 5, rounds = 40, tolerance = 0, standardise = "no", eps = 0.1),
                list(algorithm = "scaffold", epochs = 3, rounds = 20, tolerance = 0, standardise = "yes", eps = 0.01),
                list(algorithm = "fed-newton", rounds = 3, tolerance = 0, standardise = "yes", eps = 0.01))
  for (case in cases) {
    values <- unlist(lapply(case, fedplt:::as_setting_text))
    answer <- system2(program, c("train", "--data", file, "--label", "y", "--site", "site", "--row-weight", "w", "--intercept", "yes",
                                 rbind(paste0("--", names(values)), values), "--out", folder), stdout = TRUE, stderr = TRUE)
    expect_null(attr(answer, "status"), info = paste(answer, collapse = "\n"))
    text <- paste(readLines(file.path(folder, "model.json")), collapse = " ")
    numbers <- sub('.*"weights": *\\[([^]]*)\\].*', "\\1", text)
    weights <- as.numeric(strsplit(numbers, ",")[[1L]])
    control <- fedplt_control(algorithm = case$algorithm, epochs = case$epochs, rounds = case$rounds, tol = 0,
                              standardise = case$standardise)
    if (case$standardise == "yes") control$settings$penalty_units <- "model"
    fit <- fedplt(y ~ x + z, d, site, weights = w, penalty = case$eps, control = control)
    expect_identical(fit$trained$model$weights, weights, info = case$algorithm)
  }
})
