# Against nnet::multinom.
test_that("several classes equal multinom", {
  skip_if_not_installed("nnet")
  d <- generated()
  m <- nnet::multinom(k ~ x * g, d, weights = w, trace = FALSE, reltol = 1e-16, maxit = 2000)
  f <- fedplt(k ~ x * g, d, site, family = multinomial(), weights = w)
  expect_lt(max(abs(coef(m) - coef(f))), 1e-6)
  expect_identical(dimnames(coef(m)), dimnames(coef(f)))
  expect_lt(max(abs(vcov(m) - vcov(f))), 1e-6)
  expect_identical(dimnames(vcov(m)), dimnames(vcov(f)))
  expect_close(c(deviance(m), AIC(m), logLik(m)), c(deviance(f), AIC(f), logLik(f)))
  new <- d[60:99, ]
  expect_lt(max(abs(predict(m, new, type = "probs") - predict(f, new, type = "response"))), 1e-6)
  expect_identical(as.character(predict(m, new)), as.character(predict(f, new)))
  s <- summary(m)
  expect_lt(max(abs(as.vector(t(s$standard.errors)) - summary(f)$coefficients[, "Std. Error"])), 1e-6)
  expect_output(print(f), "Residual Deviance")
})

test_that("two classes are the logistic regression, and an offset is refused", {
  d <- generated()
  f <- fedplt(factor(y) ~ x, d, site, family = multinomial())
  expect_close(coef(fedplt(y ~ x, d, site)), coef(f), 1e-9)
  expect_error(fedplt(k ~ x + offset(o), d, site, family = multinomial()), "offset", class = "fedplt_error")
})

test_that("standard errors of several classes are those of the delta method", {
  d <- generated()
  d$g2 <- d$g # a column that is left out
  f <- fedplt(k ~ x + g + g2, d, site, family = multinomial(), weights = w)
  new <- d[60:75, ]
  x <- model.matrix(~ x + g, new)
  used <- !is.na(as.vector(t(coef(f))))
  at <- function(b, type) {
    eta <- x %*% t(matrix(b, nrow = 2, byrow = TRUE))
    if (type == "link") return(as.vector(eta))
    as.vector(cbind(1, exp(eta)) / rowSums(cbind(1, exp(eta))))
  }
  b <- as.vector(t(coef(f)))[used]
  for (type in c("link", "response")) {
    slope <- vapply(seq_along(b), function(j) {
      h <- 1e-5 * (seq_along(b) == j)
      (at(b + h, type) - at(b - h, type)) / 2e-5
    }, at(b, type))
    found <- predict(f, new, type = type, se.fit = TRUE)
    expect_close(at(b, type), found$fit, 1e-9)
    expect_close(sqrt(diag(slope %*% vcov(f) %*% t(slope))), found$se.fit)
    expect_identical(dimnames(found$fit), dimnames(found$se.fit))
    expect_close(predict(f, type = type, se.fit = TRUE)$se.fit[rownames(new), ], found$se.fit, 1e-9)
  }
  expect_error(predict(f, new, se.fit = TRUE), "a class has no standard error", class = "fedplt_error")
})

test_that("frames name classes and terms where their names have colons", {
  d <- generated()
  levels(d$k) <- c("a:1", "a:2", "b")
  frame <- fedplt:::tidy.fedplt(fedplt(k ~ x:g, d, site, family = multinomial()))
  expect_identical(unique(frame$y.level), c("a:2", "b"))
  expect_identical(frame$term[2:3], c("x:ga", "x:gb"))
})
