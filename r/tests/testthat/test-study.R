# Table 1 and meta-analysis beside R's own arithmetic, metafor and the command line.
smd_numbers <- function(values, groups) {
  m <- tapply(values, groups, mean, na.rm = TRUE)
  v <- tapply(values, groups, var, na.rm = TRUE)
  pairs <- utils::combn(length(m), 2)
  mean(abs(m[pairs[1, ]] - m[pairs[2, ]]) / sqrt((v[pairs[1, ]] + v[pairs[2, ]]) / 2))
}

test_that("describe has the counts, means, quartiles and differences of R", {
  d <- generated()
  d <- d[c("x", "z", "g", "site", "y")]
  d$g[5] <- NA
  made <- describe(d, sites = site)
  all <- as.data.frame(made)
  for (name in c(NA, "basel", "chur", "olten")) {
    rows <- if (is.na(name)) d else d[d$site == name, ]
    at <- function(column) all[all$column == column & (if (is.na(name)) is.na(all$site) else all$site %in% name), ]
    for (column in c("x", "z")) {
      one <- at(column)
      v <- rows[[column]]
      expect_close(c(one$mean, one$sd), c(mean(v, na.rm = TRUE), sd(v, na.rm = TRUE)), 1e-12)
      expect_close(c(one$quarter, one$median, one$three_quarters), quantile(v, 1:3 / 4, na.rm = TRUE), 1e-12)
      expect_equal(c(one$rows_low, one$missing_high, one$count_low), c(nrow(rows), sum(is.na(v)), sum(!is.na(v))))
    }
    expect_equal(at("g")$count_low, as.vector(table(rows$g)))
    expect_close(at("g")$percent, 100 * as.vector(prop.table(table(rows$g))), 1e-12)
  }
  expect_close(all$smd[all$column == "z" & is.na(all$site)], smd_numbers(d$z, d$site), 1e-12)
  strata <- describe(d, "site", by = "y", cross = "g:y")
  expect_close(strata$columns$smd[strata$columns$column == "x" & strata$columns$site %in% "chur" & is.na(strata$columns$stratum)],
               with(d[d$site == "chur", ], smd_numbers(x, y)), 1e-12)
  both <- strata$cross[is.na(strata$cross$site) & !is.na(strata$cross$row), ]
  expect_equal(both$count_low, as.vector(t(table(d$g, d$y))))
  expect_named(strata$sites, unique(d$site))
  expect_output(print(strata, "olten"), "mean (SD)", fixed = TRUE)
  expect_match(paste(toLatex(strata), collapse = " "), "\\\\begin\\{tabular\\}")
  expect_equal(describe(d, ~ site)$columns, all)
  expect_equal(describe(d[names(d) != "site"], d$site)$columns, all)
})

test_that("describe withholds small counts, and says what it cannot do", {
  d <- data.frame(g = rep(c("a", "b", "c"), c(3, 20, 30)), x = 1:53, site = rep(c("n", "s"), length.out = 53))
  made <- describe(d, sites = site, minimum = 5, grid = 10, bounds = list(x = c(0, 60)))
  one <- made$columns[made$columns$level %in% "a" & is.na(made$columns$site), ]
  expect_lt(one$count_low, one$count_high)
  expect_match(made$notes[1], "withheld")
  expect_output(print(made), "withheld")
  expect_error(describe(d, by = "nothing"), "no column 'nothing'", class = "fedplt_error")
  expect_error(describe(d, minimum = -1), "whole number", class = "fedplt_error")
  expect_error(describe(d, bounds = list(x = c(0, 60))), "only a grid uses it", class = "fedplt_error")
  expect_error(describe(list(1)), "data frame, or the paths", class = "fedplt_error")
  expect_error(describe(d, sites = c("a", "b")), "sites has 2 labels, but there are 53 rows", class = "fedplt_error")
})

test_that("describe gives the numbers of the command line, from a frame and from files", {
  program <- Sys.getenv("FEDPLT_PROGRAM")
  if (!nzchar(program)) skip("the program is not known: FEDPLT_PROGRAM is not set")
  d <- generated()[c("x", "g", "site", "y")]
  d$g <- paste0("level, \"", d$g, "\"")
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  writeLines(fedplt:::csv_lines(d), file)
  told <- system2(program, c("describe", file, "--by", "y", "--to", "csv"), stdout = TRUE)
  there <- fedplt:::csv_frame(paste(told, collapse = "\n"), 4L)
  expect_identical(describe(d, sites = site, by = "y")$columns, there)
  expect_identical(describe(file, by = "y")$columns, there)
})

test_that("meta combines as metafor does, and by the formulas", {
  lines <- data.frame(site = rep(letters[1:5], 2), term = rep(c("age", "sex"), each = 5),
                      estimate = c(0.3, 0.1, 0.55, -0.1, 0.4, 1, 1.1, 0.9, 1.2, 0.95), std_error = c(1, 2, 1.5, 1, 0.8, 3, 2, 4, 2, 3) / 10)
  for (method in c("reml", "dl")) for (knapp in c(FALSE, TRUE)) {
    made <- meta(lines, method = method, hartung_knapp = knapp, level = 0.9)
    for (term in c("age", "sex")) {
      one <- lines[lines$term == term, ]
      w <- 1 / one$std_error^2
      fixed <- made$combined[made$combined$term == term & made$combined$effects == "fixed", ]
      expect_close(fixed$estimate, weighted.mean(one$estimate, w), 1e-12)
      expect_close(fixed$std_error, 1 / sqrt(sum(w)), 1e-12)
      expect_close(fixed$q, sum(w * (one$estimate - fixed$estimate)^2), 1e-10)
      expect_close(fixed$q_p, pchisq(fixed$q, 4, lower.tail = FALSE), 1e-9)
      random <- made$combined[made$combined$term == term & made$combined$effects != "fixed", ]
      if (method == "dl") expect_close(random$tau2, max(0, (fixed$q - 4) / (sum(w) - sum(w^2) / sum(w))), 1e-10)
      if (!requireNamespace("metafor", quietly = TRUE)) next
      other <- metafor::rma(one$estimate, sei = one$std_error, method = toupper(method), level = 90, test = if (knapp) "knha" else "z",
                            control = list(threshold = 1e-12, maxiter = 1000))
      expect_close(c(other$beta, other$se, other$pval, other$ci.lb, other$ci.ub, other$I2),
                   unlist(random[c("estimate", "std_error", "p", "low", "high", "i2")]), 1e-6)
      expect_lt(abs(other$tau2 - random$tau2), 1e-8)
    }
  }
  expect_output(print(made), "90 % CI")
  expect_error(meta(lines[c(1, 1), ]), "two estimates at site 'a'", class = "fedplt_error")
  expect_error(meta(lines[-2]), "column 'term' is missing", class = "fedplt_error")
  expect_error(meta(transform(lines, std_error = 0)), "row 1: .*above 0", class = "fedplt_error")
})

test_that("meta of a fit has the estimates of each site alone", {
  d <- generated()
  made <- meta(fedplt(y ~ x + g, d, site, weights = w))
  for (name in unique(d$site)) {
    alone <- summary(glm(y ~ x + g, binomial, d[d$site == name, ], weights = w, control = exact))$coefficients
    one <- made$sites[made$sites$site == name, ]
    expect_close(alone[one$term, 1:2], c(one$estimate, one$std_error))
  }
  skip_if_not_installed("survival")
  made <- meta(fedplt_cox(Surv(time, event) ~ x, d, site), method = "dl")
  for (name in unique(d$site)) {
    alone <- survival::coxph(survival::Surv(time, event) ~ x, d[d$site == name, ])
    expect_close(c(coef(alone), sqrt(vcov(alone))), unlist(made$sites[made$sites$site == name, c("estimate", "std_error")]))
  }
  d$y[d$site == "chur"] <- 0
  expect_match(meta(fedplt(y ~ x, d, site))$notes, "site 'chur' is left out")
  expect_error(meta(fedplt(y ~ x, d, 3)), "which site a row is of", class = "fedplt_error")
})
