# Generated data with factors, interactions, offsets, weights and missing values; the same rows in every test.
generated <- function(n = 400) {
  set.seed(7)
  d <- data.frame(x = rnorm(n), z = rnorm(n, 50, 10), g = factor(sample(letters[1:4], n, TRUE)),
                  site = sample(c("basel", "chur", "olten"), n, TRUE), w = sample(1:3, n, TRUE), o = rnorm(n) / 4)
  eta <- with(d, -0.5 + 0.8 * x + 0.02 * (z - 50) + 0.5 * (g == "b") + 0.3 * x * (g == "c") + o)
  d$y <- rbinom(n, 1, plogis(eta))
  d$count <- rpois(n, exp(eta))
  d$r <- eta + rnorm(n)
  d$k <- factor(c("low", "mid", "top")[1 + (eta + rlogis(n) > -0.5) + (eta + rlogis(n) > 0.5)])
  d$time <- round(rexp(n, exp(eta / 2)), 1) + 0.1
  d$event <- rbinom(n, 1, 0.7)
  d$x[c(3, 17)] <- NA
  d
}

exact <- stats::glm.control(epsilon = 1e-11, maxit = 100)

# Largest relative difference of two vectors of numbers, where one of 1e-6 and less is of no concern.
gap <- function(a, b) {
  a <- as.vector(a)
  b <- as.vector(b)
  if (length(a) != length(b) || any(is.na(a) != is.na(b))) return(Inf)
  max(0, abs(a - b) / pmax(abs(a), 1e-3), na.rm = TRUE)
}

expect_close <- function(a, b, limit = 1e-6) testthat::expect_lt(gap(a, b), limit)

# The four hospitals of heart_disease as they come, with missing values.
heart <- function() {
  names <- c("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal", "num")
  for (folder in c(Sys.getenv("FEDPLT_SHARED"), "../../../../shared", "../../../shared")) {
    paths <- Sys.glob(file.path(folder, "data", "heart_disease", "processed.*.data"))
    if (!nzchar(folder) || length(paths) != 4L) next
    parts <- lapply(paths, function(path) {
      cbind(read.csv(path, header = FALSE, na.strings = "?", col.names = names), site = sub("processed.(.*).data", "\\1", basename(path)))
    })
    d <- do.call(rbind, parts)
    d$cp <- factor(d$cp, labels = c("typical", "atypical", "other", "none"))
    return(d)
  }
  testthat::skip("heart_disease is not there (../shared/data)")
}
