# One fit in this process: seconds, and peak memory above that of the data. usage: r_glm.R WHAT ROWS
arguments <- commandArgs(TRUE)
what <- arguments[1L]
n <- as.numeric(arguments[2L])
memory <- function(field) {
  line <- grep(field, readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
set.seed(1)
d <- as.data.frame(matrix(rnorm(20 * n), n, 20))
d$y <- rbinom(n, 1, plogis(as.matrix(d[1:5]) %*% c(1, -1, 0.5, 0.2, 0)))
site <- rep(1:10, length.out = n)
formula <- reformulate(paste0("V", 1:20), "y")
if (what %in% c("glm.fit", "fedplt_fit")) {
  x <- model.matrix(formula, d)
  y <- d$y
  rm(d)
}
invisible(gc())
writeLines("5", "/proc/self/clear_refs") # the peak begins here
before <- memory("VmRSS")
time <- system.time(switch(what,
  data = NULL,
  glm = fit <- glm(formula, binomial, d),
  fedplt = fit <- fedplt::fedplt(formula, d, site),
  fedplt_2 = fit <- fedplt::fedplt(formula, d, site, control = fedplt::fedplt_control(threads = 2)),
  glm.fit = fit <- glm.fit(x, y, family = binomial()),
  fedplt_fit = fit <- fedplt::fedplt_fit(x[, -1], y, site)))
cat(sprintf("%-10s %6.2f s (%.2f s of processor), %5.0f MB above the %.0f MB before\n", what, time[["elapsed"]],
            time[["user.self"]] + time[["sys.self"]], memory("VmHWM") - before, before))
