# Against the package survival and the command line.
skip_if_not_installed("survival")
Surv <- survival::Surv
strata <- survival::strata
precise <- survival::coxph.control(eps = 1e-11, toler.chol = 1e-12, iter.max = 50)

# Curves of a survfit as a frame.
survfit_frame <- function(fit) {
  groups <- if (is.null(fit$strata)) 1L else rep(sub(".*=", "", names(fit$strata)), fit$strata)
  data.frame(group = groups, time = fit$time, n.risk = fit$n.risk, n.event = fit$n.event, n.censor = fit$n.censor, surv = fit$surv,
             std.err = fit$std.err * fit$surv, lower = fit$lower, upper = fit$upper)
}

# Errors and limits where nobody is left are NaN in one and NA in the other.
bare <- function(x) {
  x <- as.vector(x)
  x[is.nan(x)] <- NA
  x
}

test_that("curves, medians and log-rank tests equal survfit and survdiff, by stratum and site", {
  d <- generated()
  for (type in c("log", "log-log", "plain")) {
    made <- survival_curves(Surv(time, event) ~ g, d, site, interval = type, level = 0.9)
    for (name in c(NA, unique(d$site))) {
      rows <- if (is.na(name)) d else d[d$site == name, ]
      there <- survfit_frame(survival::survfit(Surv(time, event) ~ g, rows, conf.type = type, conf.int = 0.9))
      here <- made$steps[if (is.na(name)) is.na(made$steps$site) else made$steps$site %in% name, ]
      expect_identical(here$stratum, there$group)
      expect_close(c(here$time, here$at_risk, here$events, here$censored), c(there$time, there$n.risk, there$n.event, there$n.censor), 1e-12)
      left <- there$surv > 0
      expect_close(here$survival, there$surv, 1e-8)
      expect_close(here$std_error[left], there$std.err[left], 1e-8)
      shown <- left & there$surv < 1
      expect_close(here$low[shown], bare(there$lower[shown]), 1e-8)
      expect_close(here$high[shown], bare(there$upper[shown]), 1e-8)
      table <- summary(survival::survfit(Surv(time, event) ~ g, rows, conf.type = type, conf.int = 0.9))$table
      one <- made$curves[if (is.na(name)) is.na(made$curves$site) else made$curves$site %in% name, ]
      expect_close(bare(unlist(one[c("rows", "events", "median", "median_low", "median_high")])),
                   bare(table[, c("records", "events", "median", "0.9LCL", "0.9UCL")]), 1e-8)
    }
  }
  plain <- survival::survdiff(Surv(time, event) ~ g, d)
  within <- survival::survdiff(Surv(time, event) ~ g + strata(site), d)
  expect_close(made$tests$chi_squared, c(plain$chisq, within$chisq), 1e-8)
  expect_close(made$tests$p, pchisq(c(plain$chisq, within$chisq), 3, lower.tail = FALSE), 1e-8)
  expect_close(made$groups$expected[1:4], plain$exp, 1e-8)
  expect_output(print(made), "log-rank test")
  expect_match(paste(toLatex(made), collapse = " "), "tabular")
  expect_close(survival_curves(Surv(time, event) ~ 1, d, site)$tests$chi_squared, survival::survdiff(Surv(time, event) ~ site, d)$chisq, 1e-8)
})

test_that("rows without a time are counted, small groups withheld, and what cannot be is refused", {
  d <- generated()
  d$time[1:3] <- NA
  made <- survival_curves(Surv(time, event == 1) ~ 1, d, grid = 1, minimum = 40)
  expect_match(made$notes, "1 to 39 rows without a value of the time are left out", all = FALSE)
  expect_match(made$notes, "fewer than 40 are at risk", all = FALSE)
  expect_true(all(made$steps$time == round(made$steps$time)))
  expect_error(survival_curves(time ~ g, d), "must be Surv(time, event) ~ stratum", class = "fedplt_error", fixed = TRUE)
  expect_error(survival_curves(Surv(time, event) ~ g, d, times = c(2, 1)), "times", class = "fedplt_error")
  expect_error(survival_curves(Surv(time, event) ~ g, d, happened = "1"), "only files", class = "fedplt_error")
  expect_error(survival_curves(Surv(time, event) ~ g, list()), "data frame, or the paths", class = "fedplt_error")
})

test_that("baseline hazards and survival of new rows equal basehaz and survfit", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  new <- d[1:2, ]
  for (ties in c("efron", "breslow")) for (weighted in c(FALSE, TRUE)) {
    d$v <- if (weighted) d$w else 1
    g <- survival::coxph(Surv(time, event) ~ x * g + offset(o) + strata(site), d, weights = v, ties = ties, robust = FALSE, control = precise)
    f <- fedplt_cox(Surv(time, event) ~ x * g + offset(o) + strata(site), d, weights = v, ties = ties)
    there <- suppressWarnings(survival::basehaz(g, centered = FALSE)) # at the mean of the offset
    expect_close(there$hazard, basehaz(f, centered = FALSE)$hazard, 1e-8)
    expect_identical(names(basehaz(f)), c("hazard", "time", "strata"))
    there$hazard <- there$hazard / exp(weighted.mean(d$o, d$v))
    own <- survival_baseline(f)
    key <- paste(there$strata, there$time)
    expect_close(there$hazard[match(paste(own$site, own$time), key)], own$cumulative_hazard, 1e-8)
    expect_close(own$survival, exp(-own$cumulative_hazard), 1e-12)
    for (type in if (weighted) "log" else c("log", "log-log", "plain")) {
      curves <- as.data.frame(survival::survfit(f, newdata = new, conf.type = type))
      for (i in 1:2) {
        reference <- survival::survfit(g, newdata = new[i, ], conf.type = type)
        own <- curves[curves$row == i & curves$strata == new$site[i], ]
        at <- match(own$time, reference$time)
        expect_false(anyNA(at))
        expect_close(own$surv, reference$surv[at], 1e-8)
        expect_close(own$std.err, (reference$std.err * reference$surv)[at], 1e-7)
        inside <- own$surv < 1 - 1e-9
        expect_close(own$lower[inside], bare(reference$lower[at][inside]), 1e-7)
        expect_close(own$upper[inside], bare(reference$upper[at][inside]), 1e-7)
      }
    }
  }
  expect_output(print(survival::survfit(f)), "1 row, 3 strata")
  asked <- survival_predict(f, new, times = c(0.5, 1), site = "chur", level = 0.9)
  expect_identical(nrow(as.data.frame(asked)), 4L)
  expect_identical(unique(asked$times$site), "chur")
  expect_output(print(asked), "90 % CI")
  expect_error(survival_predict(f, new, site = "nowhere"), "no site 'nowhere'", class = "fedplt_error")
  shrunk <- fedplt_cox(Surv(time, event) ~ x + strata(site), d, penalty = 0.1)
  expect_match(survival_predict(shrunk, new)$notes, "refit = TRUE")
  free <- fedplt_cox(Surv(time, event) ~ x + strata(site), d)
  expect_close(survival_predict(shrunk, new, refit = TRUE)$times$low, survival_predict(free, new)$times$low, 1e-8)
})

test_that("one stratum without sites, and a fit without strata", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  g <- survival::coxph(Surv(time, event) ~ x + z, d, control = precise)
  f <- fedplt_cox(Surv(time, event) ~ x + z, d)
  for (centred in c(FALSE, TRUE)) {
    expect_close(survival::basehaz(g, centered = centred)$hazard, basehaz(f, centered = centred)$hazard, 1e-8)
    expect_close(survival::basehaz(g)$time, basehaz(f)$time, 1e-12)
  }
  curves <- as.data.frame(survival::survfit(f))
  reference <- survival::survfit(g)
  at <- match(curves$time, reference$time)
  expect_close(curves$surv, reference$surv[at], 1e-8)
  expect_error(survival_baseline(fedplt_cox(Surv(time, event) ~ x, d, 3)), "dealt out", class = "fedplt_error")
  expect_error(survival_test(fedplt(y ~ x, d)), "fit of fedplt_cox", class = "fedplt_error")
})

test_that("the test of proportional hazards equals cox.zph, by term and by column", {
  d <- generated()
  for (ties in c("efron", "breslow")) {
    g <- survival::coxph(Surv(time, event) ~ x * g + z + strata(site), d, ties = ties, control = precise)
    f <- fedplt_cox(Surv(time, event) ~ x * g + z + strata(site), d, ties = ties)
    for (how in c("km", "identity", "log", "rank")) for (terms in c(TRUE, FALSE)) {
      there <- survival::cox.zph(g, transform = how, terms = terms)$table
      here <- survival_test(f, how, each_column = !terms)
      expect_identical(here$term, rownames(there))
      expect_close(c(here$chisq, here$df, here$p), there, 1e-8)
    }
  }
  expect_output(print(here), "time by rank")
})

test_that("heart_disease gives the curves of R, with ages as times", {
  d <- heart()
  made <- survival_curves(Surv(age, num > 0) ~ sex, d, site)
  there <- survival::survdiff(Surv(age, num > 0) ~ sex + strata(site), d)
  expect_close(made$tests$chi_squared[2], there$chisq, 1e-8)
  f <- fedplt_cox(Surv(age, num > 0) ~ factor(sex) + cp + strata(site), d)
  g <- survival::coxph(Surv(age, num > 0) ~ factor(sex) + cp + strata(site), d, control = precise)
  expect_close(coef(g), coef(f))
  expect_close(survival_test(f)$chisq, survival::cox.zph(g)$table[, "chisq"], 1e-8)
})

test_that("all tables are those of fedplt survival, from a frame and from files", {
  program <- Sys.getenv("FEDPLT_PROGRAM")
  if (!nzchar(program)) skip("the program is not known: FEDPLT_PROGRAM is not set")
  d <- generated()
  d <- d[!is.na(d$x), c("x", "z", "g", "site", "time", "event")]
  folder <- tempfile("fedplt")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  file <- file.path(folder, "rows.csv")
  writeLines(fedplt:::csv_lines(d), file)
  ask <- function(...) {
    told <- suppressWarnings(system2(program, c(...), stdout = TRUE, stderr = TRUE))
    expect_null(attr(told, "status"), info = paste(told, collapse = "\n"))
    paste(told, collapse = "\n")
  }
  steps <- fedplt:::csv_frame(ask("survival", "curves", file, "--by", "g", "--grid", "0.5", "--minimum", "5", "--csv"), 2L)
  expect_identical(survival_curves(Surv(time, event) ~ g, d, site, grid = 0.5, minimum = 5)$steps, steps)
  expect_identical(survival_curves(Surv(time, event) ~ g, file, grid = 0.5, minimum = 5)$steps, steps)
  schema <- file.path(folder, "cohort.yaml")
  writeLines(c("columns:", "  site: site", "  x: {type: number, bounds: -9..9}", "  z: {type: number, bounds: 0..100}", "  g: ignore",
               "  time: {type: time, bounds: 0.01..100}", "  event: {type: event, classes: [0, 1]}"), schema)
  ask("train", "--data", file, "--schema", schema, "--out", folder, "--eps", "0.01", "--algorithm", "fed-newton", "--rounds", "5",
      "--tolerance", "0", "--standardise", "yes", "--penalty-units", "model", "--pictures", "no", "--ties", "efron")
  f <- fedplt_cox(Surv(time, event) ~ x + z, d, site, penalty = 0.01,
                  control = fedplt_control(algorithm = "fed-newton", rounds = 5, tol = 0, standardise = "yes", penalty_units = "model"))
  model <- file.path(folder, "model.json")
  expect_identical(survival_baseline(f, grid = 0.5, minimum = 5)$cumulative_hazard,
                   fedplt:::csv_frame(ask("survival", "baseline", model, file, "--grid", "0.5", "--minimum", "5", "--csv"), 1L)$cumulative_hazard)
  new <- file.path(folder, "new.csv")
  writeLines(fedplt:::csv_lines(d[1:4, c("x", "z")]), new)
  told <- fedplt:::csv_frame(ask("survival", "predict", model, file, "--new", new, "--times", "0.5,1", "--refit", "yes", "--csv"), 3L)
  expect_identical(as.data.frame(survival_predict(f, d[1:4, ], times = c(0.5, 1), refit = TRUE))[-1], told[-(1:2)])
  told <- fedplt:::csv_frame(ask("survival", "test", model, file, "--transform", "log", "--csv"), 1L)
  expect_identical(survival_test(f, "log")$chisq, told$chi_squared)
})
