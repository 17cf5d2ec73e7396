# Evaluation, cross-validation and baselines beside R's own arithmetic and the command line.
pairs_area <- function(score, y) mean(outer(score[y == 1], score[y == 0], function(a, b) (a > b) + (a == b) / 2))

# Rows for the command line, numbers with all digits.
write_rows <- function(d) {
  folder <- tempfile("fedplt")
  dir.create(folder)
  file <- file.path(folder, "rows.csv")
  writeLines(fedplt:::csv_lines(d), file)
  file
}

ask <- function(...) {
  program <- Sys.getenv("FEDPLT_PROGRAM")
  if (!nzchar(program)) skip("the program is not known: FEDPLT_PROGRAM is not set")
  told <- suppressWarnings(system2(program, c(...), stdout = TRUE, stderr = TRUE))
  expect_null(attr(told, "status"), info = paste(told, collapse = "\n"))
  paste(told, collapse = "\n")
}

test_that("evaluate has the measures of R on the rows of the fit and on new ones", {
  d <- generated()
  d$y <- factor(c("no", "yes")[d$y + 1])
  f <- fedplt(y ~ x * g, d, site)
  new <- d[200:400, ]
  for (rows in list(NULL, new)) {
    made <- evaluate(f, rows, threshold = 0.4)
    used <- if (is.null(rows)) d[!is.na(d$x), ] else rows
    p <- predict(f, used, type = "response")
    y <- as.numeric(used$y == "yes")
    all <- made$sites[is.na(made$sites$site), ]
    expect_close(c(all$auc, all$accuracy, all$brier, all$loss, all$rows),
                 c(pairs_area(p, y), mean((p >= 0.4) == y), mean((p - y)^2), -mean(y * log(p) + (1 - y) * log(1 - p)), length(y)), 1e-9)
    for (name in unique(used$site)) {
      own <- used$site == name
      expect_close(made$sites$auc[made$sites$site %in% name], pairs_area(p[own], y[own]), 1e-9)
    }
    expect_equal(as.vector(made$confusion), as.vector(table(used$y, factor(p >= 0.4))))
    expect_identical(made$classes$class, c("no", "yes"))
    bin <- made$calibration[made$calibration$rows > 0, ]
    expect_close(sum(bin$rows * bin$predicted), sum(p), 1e-9)
    expect_close(sum(bin$rows * bin$observed), sum(y), 1e-9)
    area <- with(made$roc, sum(diff(false_positive) * (true_positive[-1] + true_positive[-length(true_positive)]) / 2))
    expect_close(area, all$auc, 1e-9)
  }
  only <- new[new$y == "yes", ] # the second class stays the second
  only$y <- factor(only$y)
  expect_close(evaluate(f, only)$classes$rows, c(0, nrow(only)), 1e-12)
  expect_output(print(made, details = TRUE), "precision")
  expect_error(evaluate(f, transform(new, y = factor("maybe"))), "'maybe', but the fit has no, yes", class = "fedplt_error")
  expect_error(evaluate(f, transform(new, g = "z")), "new level", class = "fedplt_error")
  expect_error(evaluate(f, threshold = 2), "probability between 0 and 1", class = "fedplt_error")
})

test_that("evaluate knows numbers, counts, classes, weights and survival", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  f <- fedplt(r ~ x + z, d, site, gaussian(), weights = w)
  all <- evaluate(f)$sites[4, ]
  expect_close(all$rmse, sqrt(weighted.mean((d$r - fitted(f))^2, d$w)), 1e-9)
  expect_close(all$weight, sum(d$w), 1e-12)
  f <- fedplt(count ~ x + offset(o), d, site, poisson())
  expect_close(evaluate(f)$sites$deviance[4], deviance(f) / nrow(d), 1e-8)
  f <- fedplt(k ~ x + g, d, site, multinomial())
  expect_close(evaluate(f, d)$sites$accuracy[4], mean(as.character(predict(f, d)) == d$k), 1e-12)
  f <- fedplt(y ~ 1, d, site)
  expect_close(evaluate(f)$sites$brier[4], mean((mean(d$y) - d$y)^2), 1e-9)
  f <- fedplt(y ~ x, d, site, penalty = 0.1, privacy = privacy(2, 1e-5, list(x = c(-5, 5))))
  expect_close(evaluate(f, d)$sites$auc[4], pairs_area(predict(f, d), d$y), 1e-9)
  skip_if_not_installed("survival")
  strata <- survival::strata
  for (formula in list(survival::Surv(time, event) ~ x + strata(site), survival::Surv(time, event) ~ x)) {
    f <- fedplt_cox(formula, d)
    there <- survival::concordance(survival::Surv(time, event) ~ lp + strata(s), transform(d, lp = predict(f), s = if (length(all.vars(formula)) > 3) site else 1),
                                   reverse = TRUE)
    for (made in list(evaluate(f), evaluate(f, d))) expect_lt(abs(made$sites$concordance[nrow(made$sites)] - there$concordance), 1e-9)
  }
})

test_that("the held-out loss of a fold is that of a fit to the other rows", {
  d <- generated()
  f <- fedplt(y ~ x + g, d, site)
  for (by in c("rows", "sites")) {
    made <- validate(f, c(0.003, 0.3), by = by, folds = 4)
    expect_identical(made$folds, if (by == "rows") 4L else 3L)
    used <- d[!is.na(d$x), ]
    fold <- integer(nrow(used))
    fold[made$rows$row] <- made$rows$fold
    expect_identical(made$rows$site, used$site[made$rows$row])
    for (i in 1:2) {
      loss <- vapply(unique(fold), function(k) {
        part <- fedplt(y ~ x + g, used[fold != k, ], site, penalty = made$table$penalty[i])
        p <- predict(part, used[fold == k, ], type = "response")
        y <- used$y[fold == k]
        -mean(y * log(p) + (1 - y) * log(1 - p))
      }, 0)
      expect_close(c(made$table$loss[i], made$table$std_error[i]), c(mean(loss), sd(loss) / sqrt(length(loss))), 1e-6)
    }
  }
  expect_output(print(made), "sites left out")
  expect_true(made$chosen >= made$best)
  lasso <- validate(update(f, alpha = 1, penalty = 0.01), c(0.001, 0.01, 10))
  expect_lt(lasso$table$loss[1], lasso$table$loss[3])
  expect_error(validate(f, 0), "one of them above 0", class = "fedplt_error")
  expect_error(validate(update(f, alpha = 0.5)), "alpha is 0.5", class = "fedplt_error")
  expect_error(validate(f, folds = 1), "at least 2", class = "fedplt_error")
  expect_error(validate(fedplt(y ~ x, used, site, penalty = 0.1, privacy = privacy(2, 1e-5, list(x = c(-5, 5))))), "privacy", class = "fedplt_error")
})

test_that("evaluate, validate and baseline give the numbers of the command line", {
  d <- generated()
  d <- d[!is.na(d$x), c("x", "z", "w", "y", "site")]
  file <- write_rows(d)
  on.exit(unlink(dirname(file), recursive = TRUE))
  common <- c("--data", file, "--label", "y", "--site", "site", "--row-weight", "w", "--intercept", "yes", "--standardise", "yes",
              "--algorithm", "fed-newton", "--rounds", "4", "--tolerance", "0", "--penalty-units", "model")
  control <- fedplt_control(algorithm = "fed-newton", rounds = 4, tol = 0, standardise = "yes", penalty_units = "model")
  f <- fedplt(y ~ x + z, d, site, weights = w, penalty = 0.01, control = control)
  number <- function(text, name) as.numeric(regmatches(text, gregexpr(paste0("(?<=\"", name, "\": )[-0-9.e+]+"), text, perl = TRUE))[[1L]])
  told <- ask("validate", common, "--grid", "0.001,0.1", "--json", "--quiet")
  made <- validate(f, c(0.001, 0.1))
  expect_identical(made$table$loss, number(told, "loss"))
  expect_identical(made$table$auc, number(told, "quality"))
  told <- ask("baseline", common, "--eps", "0.01", "--resamples", "20", "--json", "--quiet")
  made <- baseline(f, resamples = 20)
  expect_identical(made$table$value, number(told, "value"))
  expect_identical(made$table$low, number(told, "low"))
  expect_output(print(made), "pooled")
  ask("train", common, "--eps", "0.01", "--out", dirname(file), "--pictures", "no")
  told <- ask("evaluate", file.path(dirname(file), "model.json"), file, "--json")
  expect_identical(evaluate(f)$sites$auc[4], number(told, "auc")[1])
})

test_that("a baseline compares algorithms on the same held-out rows", {
  d <- generated()
  f <- fedplt(r ~ x + z, d, site, gaussian())
  made <- baseline(f, c("fed-newton", "fedavg"), resamples = 10, test_share = 0.4)
  table <- as.data.frame(made)
  expect_identical(unique(table$method)[4:6], c("pooled", "federation: fed-newton", "federation: fedavg"))
  at <- function(method) table$value[table$method == method]
  expect_close(at("pooled"), at("federation: fed-newton"), 1e-8) # both at the minimum of one cost
  expect_true(all(table$low <= table$value & table$value <= table$high))
  expect_identical(made$quality, "rmse")
  expect_error(baseline(f, test_share = 1), "share of the rows", class = "fedplt_error")
  dealt <- baseline(fedplt(y ~ x, d, 3), resamples = 0)
  expect_identical(length(unique(dealt$table$site)), 4L)
})

test_that("pictures of curves, predictions, validation and baselines are drawn", {
  d <- generated()
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  f <- fedplt(y ~ x, d, site)
  expect_s3_class(plot(evaluate(f)), "fedplt_evaluation")
  expect_s3_class(plot(evaluate(f), "calibration"), "fedplt_evaluation")
  expect_s3_class(plot(validate(f, c(0.01, 1), folds = 2)), "fedplt_validation")
  expect_s3_class(plot(baseline(f, resamples = 5)), "fedplt_baseline")
  skip_if_not_installed("survival")
  g <- fedplt_cox(Surv(time, event) ~ x + strata(site), d)
  expect_s3_class(plot(survival_curves(Surv(time, event) ~ g, d, site)), "fedplt_curves")
  expect_s3_class(plot(survival_curves(Surv(time, event) ~ 1, d, site)), "fedplt_curves")
  expect_s3_class(plot(survival_predict(g, d[5:6, ])), "fedplt_prognosis")
  expect_s3_class(plot(survival::survfit(g, d[5:6, ])), "fedplt_survfit")
})
