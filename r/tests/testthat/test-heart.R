# The four hospitals of heart_disease through the formula interface: factors, interactions, offsets, weights and missing values.
hospitals <- function() {
  d <- heart()
  d$decades <- (d$age - 54) / 10
  d$w <- 1 + d$sex + (d$site == "va")
  d$o <- log(d$age) / 4
  d$class <- cut(d$num, c(-1, 0, 2, 4), c("none", "some", "severe"))
  d
}

same_table <- function(a, b) {
  expect_identical(rownames(a), rownames(b))
  expect_close(a[, 1:2], b[, 1:2])
  expect_lt(max(abs(a[, 4] - b[, 4])), 1e-6)
}

test_that("heart_disease equals glm with two classes and with counts", {
  d <- hospitals()
  for (one in list(list(num > 0 ~ age + sex * cp + trestbps + exang + oldpeak + offset(o), binomial()),
                   list(num ~ age + sex * cp + oldpeak + offset(o), poisson()))) {
    # glm's errors are those of the iterate before the last, so that one is converged too
    g <- glm(one[[1]], one[[2]], d, weights = w, control = stats::glm.control(1e-14, 100))
    f <- fedplt(one[[1]], d, site, one[[2]], weights = w)
    expect_gt(length(f$na.action), 20)
    same_table(summary(g)$coefficients, summary(f)$coefficients)
    new <- d[c(1:50, 600:650), ]
    for (type in c("link", "response")) {
      here <- predict(f, new, type = type, se.fit = TRUE)
      there <- predict(g, new, type = type, se.fit = TRUE)
      expect_close(there$fit, here$fit)
      expect_close(there$se.fit, here$se.fit)
    }
  }
})

test_that("heart_disease equals lm", {
  d <- hospitals()
  formula <- thalach ~ age + sex * cp + trestbps + offset(10 * o)
  l <- lm(formula, d, weights = w)
  f <- fedplt(formula, d, site, gaussian(), weights = w)
  same_table(summary(l)$coefficients, summary(f)$coefficients)
  expect_close(confint(l), confint(f))
  expect_close(predict(l, d[1:60, ]), predict(f, d[1:60, ]))
  expect_close(summary(l)$sigma^2, summary(f)$dispersion)
})

test_that("heart_disease equals coxph", {
  skip_if_not_installed("survival")
  strata <- survival::strata
  d <- hospitals()
  formula <- survival::Surv(age, num > 0) ~ sex * cp + exang + oldpeak + offset(o) + strata(site)
  g <- survival::coxph(formula, d, weights = w, robust = FALSE, control = survival::coxph.control(eps = 1e-11, toler.chol = 1e-12, iter.max = 50))
  f <- fedplt_cox(formula, d, weights = w)
  expect_close(summary(g)$coefficients, summary(f)$coefficients)
  expect_close(logLik(g), logLik(f))
  there <- predict(g, d[1:40, ], type = "lp", reference = "zero")
  here <- predict(f, d[1:40, ], type = "lp")
  known <- !is.na(there) & !is.na(here)
  expect_gt(sum(known), 20)
  expect_lt(diff(range((there - here)[known])), 1e-6) # the two take other reference points
})

test_that("heart_disease equals multinom", {
  skip_if_not_installed("nnet")
  d <- hospitals()
  formula <- class ~ decades * sex + cp + exang
  m <- nnet::multinom(formula, d, weights = w, trace = FALSE, reltol = 1e-16, maxit = 5000)
  f <- fedplt(formula, d, site, multinomial(), weights = w)
  expect_lt(max(abs(coef(m) - coef(f))), 1e-6)
  s <- summary(m)
  table <- summary(f)$coefficients
  expect_lt(max(abs(as.vector(t(s$standard.errors)) - table[, 2])), 1e-6)
  expect_lt(max(abs(2 * pnorm(-abs(as.vector(t(s$coefficients / s$standard.errors)))) - table[, 4])), 1e-6)
  new <- d[c(5:40, 500:540), ]
  there <- predict(m, new, type = "probs")
  here <- predict(f, new, type = "response")
  known <- stats::complete.cases(there)
  expect_gt(sum(known), 40)
  expect_lt(max(abs(there - here)[known, ]), 1e-6)
})
