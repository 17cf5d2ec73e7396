# Against survival::coxph.
skip_if_not_installed("survival")
Surv <- survival::Surv
strata <- survival::strata
precise <- survival::coxph.control(eps = 1e-11, toler.chol = 1e-12, iter.max = 50)

test_that("Cox regression equals coxph with strata, factors, weights and offsets, for both ways to treat ties", {
  d <- generated()
  for (ties in c("efron", "breslow")) {
    g <- survival::coxph(Surv(time, event) ~ x * g + z + offset(o) + strata(site), d, weights = w, ties = ties, robust = FALSE,
                         control = precise)
    f <- fedplt_cox(Surv(time, event) ~ x * g + z + offset(o) + strata(site), d, weights = w, ties = ties)
    expect_close(coef(g), coef(f))
    expect_identical(names(coef(g)), names(coef(f)))
    expect_close(vcov(g), vcov(f))
    expect_close(logLik(g), logLik(f))
    expect_close(c(AIC(g), BIC(g), nobs(g)), c(AIC(f), BIC(f), nobs(f)))
    expect_close(summary(g)$coefficients, summary(f)$coefficients)
    expect_close(summary(g)$conf.int, summary(f)$conf.int)
    expect_close(confint(g), confint(f))
  }
})

test_that("predictions, baseline hazards and residuals equal those of coxph", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  for (ties in c("efron", "breslow")) {
    g <- survival::coxph(Surv(time, event) ~ x + g + strata(site), d, ties = ties, control = precise)
    f <- fedplt_cox(Surv(time, event) ~ x + g + strata(site), d, ties = ties)
    one <- predict(g, d[1:20, ], type = "lp", se.fit = TRUE, reference = "sample")
    two <- predict(f, d[1:20, ], type = "lp", se.fit = TRUE)
    shift <- one$fit - two$fit # coxph takes factors at their reference level
    expect_lt(diff(range(shift)), 1e-6)
    a <- survival::basehaz(g, centered = FALSE)
    b <- basehaz(f, centered = FALSE)
    expect_close(a$hazard, b$hazard)
    expect_close(a$time, b$time)
    expect_close(residuals(g), residuals(f))
  }
  curves <- as.data.frame(survival::survfit(f, newdata = d[1:2, ]))
  reference <- summary(survival::survfit(g, newdata = d[1, ]), times = 1)
  expect_output(print(survival::survfit(f)), "3 strata")
  first <- curves[curves$row == 1 & curves$strata == "basel" & curves$time == max(curves$time[curves$time <= 1 & curves$strata == "basel"]), ]
  place <- match("basel", sub(".*=", "", as.character(d$site[1])), 0)
  own <- if (place) reference$surv[1] else NA
  if (!is.na(own)) expect_close(first$surv, own)
})

test_that("sites are strata, and dependent columns are NA", {
  d <- generated()
  by_site <- fedplt_cox(Surv(time, event) ~ x, d, site)
  expect_close(coef(by_site), coef(fedplt_cox(Surv(time, event) ~ x + strata(site), d)), 1e-12)
  d$constant <- as.numeric(factor(d$site))
  expect_true(is.na(coef(fedplt_cox(Surv(time, event) ~ x + constant, d, site))[["constant"]]))
  expect_close(anova(survival::coxph(Surv(time, event) ~ x + g + strata(site), d, control = precise))$Chisq[2:3],
               anova(fedplt_cox(Surv(time, event) ~ x + g + strata(site), d))$Deviance[2:3])
})

test_that("times must be above 0 and responses right-censored", {
  d <- generated()
  expect_error(fedplt_cox(Surv(time - 0.1, event) ~ x, d, site), "the time is 0, but must be above 0", class = "fedplt_error")
  expect_error(fedplt_cox(Surv(time, time + 1, event) ~ x, d, site), "right-censored", class = "fedplt_error")
})
