# Printing, frames and pictures.
test_that("print and summary have glm's layout", {
  d <- generated()
  f <- fedplt(y ~ x + I(2 * x), d, site)
  expect_output(print(f), "Degrees of Freedom: 397 Total .*Null Deviance.*Residual Deviance.*AIC.*Trained over 3 sites")
  expect_output(print(summary(f)), "1 not defined because of singularities.*Pr\\(>\\|z\\|\\).*Signif. codes.*Dispersion parameter for binomial family taken to be 1.*Null deviance:.*on 397  degrees of freedom.*2 observations deleted")
  g <- glm(y ~ x + I(2 * x), binomial, d)
  numbers <- function(object) grep("deviance|AIC", capture.output(print(summary(object))), value = TRUE)
  expect_identical(tail(numbers(g), 3), numbers(f))
})

test_that("tidy, glance and augment are frames", {
  skip_if_not_installed("generics")
  d <- generated()
  f <- fedplt(y ~ x + g, d, site)
  t <- generics::tidy(f, conf.int = TRUE, exponentiate = TRUE)
  expect_identical(names(t), c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high"))
  expect_equal(t$estimate, unname(exp(coef(f))))
  expect_identical(nrow(generics::glance(f)), 1L)
  expect_true(all(c(".fitted", ".resid") %in% names(generics::augment(f))))
  expect_identical(names(generics::tidy(fedplt(k ~ x, d, site, multinomial())))[1:2], c("y.level", "term"))
})

test_that("pictures are drawn, and their numbers are right", {
  d <- generated()
  f <- fedplt(y ~ x + g, d, site)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({ grDevices::dev.off(); unlink(file) })
  curve <- plot(f, "roc")
  scores <- fitted(f)
  pairs <- outer(scores[f$y == 1], scores[f$y == 0], function(a, b) (a > b) + (a == b) / 2)
  expect_equal(attr(curve, "auc"), mean(pairs))
  groups <- plot(f, "calibration")
  expect_equal(sum(groups$rows * groups$predicted), sum(f$y)) # an intercept: fitted probabilities sum to the successes
  shown <- plot(f, "convergence")
  expect_lt(shown$criterion[nrow(shown)], 1e-20 * shown$criterion[1])
  expect_error(plot(fedplt(r ~ x, d, site, gaussian()), "roc"), "two classes", class = "fedplt_error")
})

test_that("settings are listed from the library's tables", {
  s <- fedplt_settings("fed-plt")
  expect_true(all(c("rho", "gamma", "epochs", "privacy.epsilon") %in% s$name))
  expect_match(fedplt_version(), "^[0-9]+\\.[0-9]+\\.[0-9]+$")
  expect_output(print(fedplt_control(epochs = 3, ties = "efron")), "epochs = 3")
})
