# Seconds from SIGINT to the end of a fit, at moments spread over the fit, and the memory that stays. usage: r_interrupt.R ROWS
n <- as.numeric(commandArgs(TRUE)[1L])
set.seed(1)
x <- matrix(rnorm(20 * n), n, 20)
y <- rbinom(n, 1, plogis(x[, 1] - x[, 2]))
site <- rep(1:10, length.out = n)
resident <- function() {
  gc()
  as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("^VmRSS", readLines("/proc/self/status"), value = TRUE))) / 1024
}
whole <- system.time(fedplt::fedplt_fit(x, y, site))[["elapsed"]]
late <- function(share) {
  file <- tempfile()
  on.exit(unlink(file))
  sent <- sprintf("sleep %.3f; date +%%s.%%N >%s; kill -INT %d", share * whole, file, Sys.getpid())
  # the sender must not be interrupted itself
  system(paste("setsid sh -c", shQuote(sent), "&"))
  ended <- tryCatch({ fedplt::fedplt_fit(x, y, site); NA }, interrupt = function(i) as.numeric(Sys.time()))
  tryCatch(while (!file.exists(file)) Sys.sleep(0.05), interrupt = function(i) NULL)
  tryCatch(Sys.sleep(0.2), interrupt = function(i) NULL)
  ended - as.numeric(readLines(file))
}
before <- resident()
shares <- seq(0.05, 0.9, length.out = 12)
taken <- vapply(shares, late, 0)
Sys.sleep(2) # a round that was going on ends
kept <- resident() - before
cat(sprintf("interrupt of a fit of %.0f x 20 rows that takes %.1f s: median %.2f s, at most %.2f s, %d of %d fits had ended before, %.0f MB kept\n",
            n, whole, median(taken, na.rm = TRUE), max(taken, na.rm = TRUE), sum(is.na(taken)), length(taken), kept))
