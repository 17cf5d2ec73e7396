# Against glm and lm.
families <- list(binomial = "y", poisson = "count", gaussian = "r")

for (name in names(families)) local({
  name <- name
  formula <- stats::reformulate(c("x*g", "z", "I(2*z)", "offset(o)"), families[[name]])
  test_that(paste(name, "equals glm with factors, interactions, offsets, weights, missing values and an aliased column"), {
    d <- generated()
    g <- glm(formula, family = name, data = d, weights = w, control = exact)
    f <- fedplt(formula, d, site, family = name, weights = w)
    expect_close(coef(g), coef(f))
    expect_identical(names(coef(g)), names(coef(f)))
    expect_close(vcov(g), vcov(f), 1e-5)
    a <- summary(g)$coefficients
    b <- summary(f)$coefficients
    expect_identical(dimnames(a), dimnames(b))
    expect_close(a[, 1:2], b[, 1:2])
    expect_lt(max(abs(a[, 4] - b[, 4])), 1e-6)
    for (f2 in list(deviance, AIC, BIC, logLik, nobs, df.residual)) expect_close(f2(g), f2(f))
    expect_close(g$null.deviance, f$null.deviance)
    for (type in c("deviance", "pearson", "working", "response")) expect_close(residuals(g, type), residuals(f, type))
    expect_close(fitted(g), fitted(f))
    new <- d[7:30, ]
    for (type in c("link", "response")) {
      one <- suppressWarnings(predict(g, new, type = type, se.fit = TRUE)) # glm warns of its aliased column
      two <- predict(f, new, type = type, se.fit = TRUE)
      expect_close(one$fit, two$fit)
      expect_close(one$se.fit, two$se.fit)
      expect_identical(names(one$fit), names(two$fit))
    }
  })
})

test_that("least squares equals lm", {
  d <- generated()
  l <- lm(r ~ poly(x, 2) + g, d[-c(3, 17), ])
  f <- fedplt(r ~ poly(x, 2) + g, d[-c(3, 17), ], site, family = gaussian())
  expect_close(summary(l)$coefficients, summary(f)$coefficients)
  expect_close(confint(l), confint(f))
  new <- d[5:9, ]
  expect_close(predict(l, new), predict(f, new))
  expect_close(anova(l)$"Pr(>F)"[1:2], anova(f, test = "F")$"Pr(>F)"[2:3])
})

test_that("a Poisson fit equals glm where expected counts are far above all counts", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  d$w <- 1
  d$w[5] <- 1e-3
  d$o[5] <- 7
  g <- glm(count ~ x + offset(o), poisson, d, weights = w, control = exact)
  f <- fedplt(count ~ x + offset(o), d, site, poisson(), weights = w)
  expect_gt(max(fitted(f)), exp(1) * max(d$count))
  expect_close(summary(g)$coefficients, summary(f)$coefficients)
})

test_that("proportions, successes and failures, and factors are responses as in glm", {
  d <- generated()
  d$share <- d$count / (d$count + 3)
  g <- glm(cbind(count, 3) ~ x, binomial, d, control = exact)
  f <- fedplt(cbind(count, 3) ~ x, d, site)
  expect_close(summary(g)$coefficients, summary(f)$coefficients)
  expect_close(c(deviance(g), AIC(g)), c(deviance(f), AIC(f)))
  f <- fedplt(share ~ x, d, site, weights = count + 3)
  expect_close(coef(g), coef(f))
  d$answer <- factor(ifelse(d$y == 1, "yes", "no"))
  g <- glm(answer ~ x, binomial, d, control = exact)
  f <- fedplt(answer ~ x, d, site)
  expect_close(coef(g), coef(f))
  expect_identical(levels(predict(f, type = "class")), c("no", "yes"))
  expect_error(fedplt(as.character(answer) ~ x, d, site), class = "fedplt_error")
})

test_that("quasi families, rows of weight 0, subset, no intercept and an intercept alone", {
  d <- generated()
  d$w[1:40] <- 0
  for (name in c("quasipoisson", "gaussian")) {
    g <- glm(count ~ x, name, d, weights = w, subset = z > 45, control = exact)
    f <- fedplt(count ~ x, d, site, name, weights = w, subset = z > 45)
    expect_close(suppressWarnings(summary(g))$coefficients, summary(f)$coefficients) # glm warns of rows of weight 0
    expect_identical(nobs(g), nobs(f))
  }
  expect_close(coef(glm(y ~ 0 + g + x, binomial, d, control = exact)), coef(fedplt(y ~ 0 + g + x, d, site)))
  f <- fedplt(y ~ 1, d, site)
  g <- glm(y ~ 1, binomial, d, control = exact)
  expect_close(summary(g)$coefficients, summary(f)$coefficients)
})

test_that("contrasts, na.exclude, update and anova are those of glm", {
  d <- generated()
  g <- glm(y ~ g + x, binomial, d, contrasts = list(g = "contr.sum"), na.action = na.exclude, control = exact)
  f <- fedplt(y ~ g + x, d, site, contrasts = list(g = "contr.sum"), na.action = na.exclude)
  expect_close(coef(g), coef(f))
  expect_close(residuals(g), residuals(f))
  expect_close(fitted(g), fitted(f))
  expect_close(predict(g), predict(f))
  expect_close(predict(g, d[60:70, ]), predict(f, d[60:70, ]))
  a <- anova(g, test = "Chisq")
  b <- anova(f)
  expect_identical(dimnames(a), dimnames(b))
  for (column in names(a)) expect_close(a[[column]], b[[column]])
  smaller <- update(f, . ~ . - x)
  expect_identical(names(coef(smaller)), names(coef(update(g, . ~ . - x))))
  d <- d[!is.na(d$x), ]
  one <- anova(glm(y ~ x, binomial, d, control = exact), glm(y ~ x * g, binomial, d, control = exact), test = "LRT")
  two <- anova(fedplt(y ~ x, d, site), fedplt(y ~ x * g, d, site), test = "LRT")
  expect_close(one$"Pr(>Chi)", two$"Pr(>Chi)")
})

test_that("how rows are divided does not change a fit, and a number of sites deals them out", {
  d <- generated()
  whole <- fedplt(y ~ x + g, d)
  expect_close(coef(whole), coef(fedplt(y ~ x + g, d, ~site)), 1e-9)
  dealt <- fedplt(y ~ x + g, d, 5)
  expect_close(coef(whole), coef(dealt), 1e-9)
  expect_identical(dealt$trained$sites$dealt, 5)
  labels <- d$site
  expect_identical(coef(fedplt(y ~ x + g, d, labels)), coef(fedplt(y ~ x + g, d, site)))
  expect_identical(coef(fedplt(y ~ x + g, d, "site")), coef(fedplt(y ~ x + g, d, site)))
})

test_that("a sparse matrix gives the fit of the dense one", {
  skip_if_not_installed("Matrix")
  d <- generated()
  i <- seq_len(nrow(d))
  set.seed(3)
  X <- Matrix::sparseMatrix(i = c(i, i), j = c(sample(1:6, nrow(d), TRUE), sample(7:12, nrow(d), TRUE)),
                            x = rep(1, 2 * nrow(d)), dimnames = list(NULL, paste0("v", 1:12)))
  y <- d$y
  g <- glm(y ~ as.matrix(X), family = binomial, control = exact)
  f <- fedplt(y ~ ., X, d$site)
  expect_close(unname(coef(g)), unname(coef(f)))
  expect_close(summary(g)$coefficients, summary(f)$coefficients)
  expect_close(coef(fedplt_fit(as.matrix(X), y, d$site)), coef(f))
  expect_close(predict(f, X[1:9, ]), predict(f)[1:9])
  expect_identical(names(coef(fedplt(y ~ v1 + v8, X, d$site))), c("(Intercept)", "v1", "v8"))
})

test_that("ridge and lasso minimise mean loss plus penalty", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  x <- model.matrix(~ x + g + z, d)
  cost <- function(b, ridge) {
    eta <- as.vector(x %*% b)
    mean(log1p(exp(eta)) - d$y * eta) + ridge / 2 * sum(b[-1]^2)
  }
  slope <- function(b, ridge) {
    as.vector(crossprod(x, plogis(as.vector(x %*% b)) - d$y)) / nrow(x) + ridge * c(0, b[-1])
  }
  f <- fedplt(y ~ x + g + z, d, site, penalty = 0.1)
  expect_lt(max(abs(slope(coef(f), 0.1))), 1e-8)
  f <- fedplt(y ~ x + g + z, d, site, penalty = 0.05, alpha = 1, control = fedplt_control(rounds = 5000))
  b <- coef(f)
  gradient <- slope(b, 0)
  zero <- abs(b) < 1e-9
  expect_true(any(zero[-1]) && !all(zero[-1]))
  expect_lt(abs(gradient[1]), 1e-6)
  expect_lt(max(abs(gradient[-1] + 0.05 * sign(b[-1]))[!zero[-1]]), 1e-6)
  expect_lte(max(abs(gradient[-1][zero[-1]])), 0.05 + 1e-6)
  expect_error(vcov(f), "penalty", class = "fedplt_error")
  expect_output(print(summary(f)), "Note: the cost had a penalty")
})

test_that("heart_disease through the formula interface equals glm", {
  d <- heart()
  formula <- num > 0 ~ age + sex * cp + trestbps + exang + oldpeak
  g <- glm(formula, binomial, d, control = exact)
  f <- fedplt(formula, d, site)
  expect_close(summary(g)$coefficients[, 1:2], summary(f)$coefficients[, 1:2])
  expect_lt(max(abs(summary(g)$coefficients[, 4] - summary(f)$coefficients[, 4])), 1e-6)
  expect_close(predict(g, d[1:50, ], type = "response"), predict(f, d[1:50, ], type = "response"))
})

test_that("gamma with a logarithmic link and probit are glm's", {
  set.seed(4)
  d <- data.frame(a = rnorm(120), b = runif(120), site = rep(1:3, 40))
  d$y <- rgamma(120, 2, scale = exp(1 + d$a / 2 - d$b))
  d$z <- d$a + rnorm(120) > 0
  fine <- glm.control(epsilon = 1e-14, maxit = 100)
  for (case in list(list(y ~ a + b, Gamma(link = "log")), list(z ~ a + b, binomial(link = "probit")))) {
    mine <- fedplt(case[[1]], d, site, family = case[[2]])
    theirs <- glm(case[[1]], case[[2]], d, control = fine)
    expect_equal(summary(mine)$coefficients, summary(theirs)$coefficients, tolerance = 1e-6)
    expect_equal(logLik(mine), logLik(theirs), tolerance = 1e-8, ignore_attr = TRUE)
    expect_equal(predict(mine, d, type = "response"), predict(theirs, d, type = "response"), tolerance = 1e-7)
  }
})

test_that("odd inputs are taken as glm takes them, or refused with a sentence", {
  set.seed(11)
  n <- 150
  d <- data.frame(x = rnorm(n), z = runif(n, 1, 5), g = factor(sample(c("a", "b"), n, TRUE), levels = c("a", "b", "never")),
                  o = factor(sample(c("lo", "mid", "hi"), n, TRUE), levels = c("lo", "mid", "hi"), ordered = TRUE),
                  h = sample(c("u", "v"), n, TRUE), site = c("lonely", sample(c("s1", "s2"), n - 1, TRUE)), w = sample(1:3, n, TRUE))
  d$y <- rbinom(n, 1, plogis(d$x))
  exact <- glm.control(epsilon = 1e-13, maxit = 50)
  for (f in list(y ~ g + x, y ~ o * x, y ~ h + poly(z, 2), y ~ offset(z / 10) + log(z), y ~ . - site - w, y ~ x:g - 1)) {
    ours <- fedplt(f, d, site)
    theirs <- glm(f, binomial, d, control = exact)
    expect_close(coef(ours), coef(theirs), 1e-8)
    expect_identical(dimnames(coef(summary(ours))), dimnames(coef(summary(theirs))))
    expect_close(coef(summary(ours))[, 2], coef(summary(theirs))[, 2], 1e-6)
  }
  d$w[3] <- NA
  expect_close(coef(fedplt(y ~ x, d, site, weights = w)), coef(glm(y ~ x, binomial, d, weights = w, control = exact)), 1e-8)
  as_tibble <- structure(d, class = c("tbl_df", "tbl", "data.frame")) # with the package's methods where it is loaded
  expect_identical(coef(fedplt(y ~ x + h, as_tibble, site)), coef(fedplt(y ~ x + h, d, site)))
  expect_error(fedplt(y ~ x, d, site, subset = x > 100), "no row is left", class = "fedplt_error")
  expect_error(fedplt(y ~ x, d, "hospital"), "there is no such column; the columns are x, z", class = "fedplt_error")
  expect_error(fedplt(y ~ x, d, c("a", "b")), "2 labels, but there are 150 rows", class = "fedplt_error")
  expect_error(fedplt(y ~ x, transform(d, x = replace(x, 5, Inf)), site), "row 5: column 'x' is Inf", class = "fedplt_error")
  fit <- fedplt(y ~ x + h, d, site)
  expect_error(predict(fit, d["x"]), "newdata needs every variable", class = "fedplt_error")
  expect_error(predict(fit, data.frame(x = 1, h = "w")), "xlevels", class = "fedplt_error")
  d$apart <- d$y + rnorm(n) / 100
  expect_warning(fedplt(y ~ apart, d, site), "numerically 0 or 1")
  expect_warning(fedplt(factor(rep("a", n)) ~ x, d, site), "numerically 0 or 1")
  expect_error(fedplt(o ~ x + offset(z), d, site, multinomial()), "one for every class", class = "fedplt_error")
})

test_that("step, drop1 and weights work as with glm", {
  set.seed(12)
  d <- data.frame(a = rnorm(80), b = rnorm(80), site = rep(1:2, 40), w = rep(1:4, 20))
  d$y <- rpois(80, exp(0.3 * d$a))
  ours <- fedplt(y ~ a + b, d, site, family = poisson(), weights = w)
  theirs <- glm(y ~ a + b, poisson, d, weights = w)
  expect_equal(extractAIC(ours), extractAIC(theirs), tolerance = 1e-8)
  expect_equal(drop1(ours)$AIC, drop1(theirs)$AIC, tolerance = 1e-8)
  expect_equal(weights(ours), weights(theirs))
  expect_identical(formula(step(ours, trace = 0)), formula(step(theirs, trace = 0)))
})
