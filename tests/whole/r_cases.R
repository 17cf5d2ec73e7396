# Runs the tests of a folder and speaks TAP, one case a test.
suppressMessages({
  library(testthat)
  library(fedplt)
})
results <- test_dir(commandArgs(TRUE)[1L], reporter = "silent", stop_on_failure = FALSE, package = "fedplt", load_package = "none")
cat("1..", length(results), "\n", sep = "")
for (i in seq_along(results)) {
  one <- results[[i]]
  is <- function(...) vapply(one$results, inherits, NA, paste0("expectation_", c(...)))
  bad <- any(is("failure", "error"))
  cat(if (bad) "not ok " else "ok ", i, " - ", one$file, ": ", one$test, if (any(is("skip")) && !any(is("success"))) " # skip", "\n", sep = "")
  for (part in one$results[is("failure", "error", "skip", "warning")])
    cat(paste0("# ", strsplit(conditionMessage(part), "\n")[[1L]]), sep = "\n")
}
