# The statistics of R behind tests/golden/comparison.json: reads the data sets in a folder, prints one JSON object
# {case: {quantity: [numbers]}}. Called by tests/oracle/comparison.py.
library(survival)

folder <- commandArgs(TRUE)[1]
read <- function(name) read.csv(file.path(folder, paste0(name, ".csv")), stringsAsFactors = FALSE)
found <- list()
keep <- function(case, ...) found[[case]] <<- list(...)

fine <- glm.control(epsilon = 1e-15, maxit = 100)
finest <- coxph.control(eps = 1e-14, iter.max = 100, toler.inf = 1e-10)

linear <- function(case, fit) {
    s <- summary(fit)
    table <- s$coefficients
    interval <- confint(fit)
    interval <- interval[rownames(table), , drop = FALSE]
    f <- s$fstatistic
    keep(case, coefficient = table[, 1], std_error = table[, 2], t = table[, 3], p = table[, 4],
         low = interval[, 1], high = interval[, 2], names = rownames(table),
         sigma = s$sigma, r2 = s$r.squared, adjusted_r2 = s$adj.r.squared, f = f[[1]],
         f_p = pf(f[[1]], f[[2]], f[[3]], lower.tail = FALSE), log_likelihood = as.numeric(logLik(fit)),
         aic = AIC(fit), bic = BIC(fit), rows = nobs(fit))
}

# z, p and intervals of estimates by Wald.
wald <- function(case, names, estimate, error, ..., freedom = Inf) {
    reach <- qt(0.975, freedom)
    statistic <- estimate / error
    list(case, names = names, coefficient = estimate, std_error = error,
         p = 2 * pt(-abs(statistic), freedom), low = estimate - reach * error,
         high = estimate + reach * error, ...)
}
keep_wald <- function(...) do.call(keep, wald(...))

# The covariance at the estimate: summary(glm) has that of the iteration before the last one.
covariance <- function(fit) {
    x <- model.matrix(fit)[, !is.na(coef(fit)), drop = FALSE]
    solve(crossprod(x * sqrt(fit$family$variance(fitted(fit)) * fit$prior.weights)))
}

general <- function(case, fit, null = NULL, ...) {
    estimate <- coef(fit)[!is.na(coef(fit))]
    error <- sqrt(diag(covariance(fit)))
    null <- if (is.null(null)) fit$null.deviance else deviance(null)
    free <- fit$df.null - fit$df.residual
    chi <- null - deviance(fit)
    keep_wald(case, names(estimate), estimate, error, log_likelihood = as.numeric(logLik(fit)),
              aic = AIC(fit), bic = BIC(fit), rows = nobs(fit), chi_squared = chi,
              chi_p = pchisq(chi, free, lower.tail = FALSE), ratio = exp(estimate), ...)
}

# The same where the link is not the canonical one: the expected information, times the dispersion by Pearson where the
# family has one.
expected_covariance <- function(fit) {
    x <- model.matrix(fit)
    mean <- fitted(fit)
    by <- fit$family$mu.eta(fit$linear.predictors)^2 / fit$family$variance(mean) * fit$prior.weights
    solve(crossprod(x * sqrt(by)))
}
# Fisher scoring to the end: glm stops where the deviance does not change any more, which is at half the digits.
scored <- function(fit) {
    x <- model.matrix(fit)
    for (step in 1:200) {
        slope <- fit$family$mu.eta(fit$linear.predictors) / fit$family$variance(fit$fitted.values)
        change <- expected_covariance(fit) %*% crossprod(x, fit$prior.weights * (fit$y - fit$fitted.values) * slope)
        fit$coefficients <- fit$coefficients + change[, 1]
        fit$linear.predictors <- fit$linear.predictors + (x %*% change)[, 1]
        fit$fitted.values <- fit$family$linkinv(fit$linear.predictors)
    }
    fit$deviance <- sum(fit$family$dev.resids(fit$y, fit$fitted.values, fit$prior.weights))
    fit$aic <- fit$family$aic(fit$y, rep(1, length(fit$y)), fit$fitted.values, fit$prior.weights, fit$deviance) +
        2 * fit$rank
    fit
}
pearson <- function(fit) {
    if (fit$family$family != "Gamma") return(1)
    sum(fit$prior.weights * (fit$y - fitted(fit))^2 / fit$family$variance(fitted(fit))) / fit$df.residual
}
linked <- function(case, fit, null = NULL) {
    fit <- scored(fit)
    estimate <- coef(fit)
    dispersion <- pearson(fit)
    error <- sqrt(diag(expected_covariance(fit)) * dispersion)
    free <- fit$df.null - fit$df.residual
    chi <- (if (is.null(null)) fit$null.deviance else deviance(null)) - deviance(fit)
    gamma <- fit$family$family == "Gamma"
    tests <- if (gamma) list(f = chi / free / dispersion,
                             f_p = pf(chi / free / dispersion, free, fit$df.residual, lower.tail = FALSE),
                             dispersion = dispersion, ratio = exp(estimate)) else
        list(chi_squared = chi, chi_p = pchisq(chi, free, lower.tail = FALSE))
    do.call(keep_wald, c(list(case, names(estimate), estimate, error, freedom = if (gamma) fit$df.residual else Inf,
                              log_likelihood = as.numeric(logLik(fit)), aic = AIC(fit), bic = BIC(fit),
                              rows = nobs(fit)), tests))
}
linked_sandwich <- function(case, fit) {
    fit <- scored(fit)
    mean <- fitted(fit)
    scores <- model.matrix(fit) * (fit$prior.weights * (fit$y - mean) * fit$family$mu.eta(fit$linear.predictors) /
                                   fit$family$variance(mean))
    bread <- expected_covariance(fit)
    keep_wald(case, names(coef(fit)), coef(fit), sqrt(diag(bread %*% crossprod(scores) %*% bread)),
              freedom = if (fit$family$family == "Gamma") fit$df.residual else Inf)
}

# HC0: (X'WX)^-1 X' diag(score^2) X (X'WX)^-1
sandwich <- function(case, fit, scores, freedom = Inf) {
    bread <- if (inherits(fit, "glm")) covariance(fit) else summary(fit)$cov.unscaled
    keep_wald(case, names(coef(fit)), coef(fit), sqrt(diag(bread %*% crossprod(scores) %*% bread)),
              freedom = freedom)
}

cox <- function(case, fit) {
    s <- summary(fit)
    table <- s$coefficients
    error <- sqrt(diag(fit$var))
    chi <- 2 * diff(fit$loglik)
    keep_wald(case, names(coef(fit)), coef(fit), error, ratio = exp(coef(fit)), rows = fit$n,
              events = fit$nevent, log_likelihood = fit$loglik[2], aic = AIC(fit), bic = BIC(fit),
              chi_squared = chi, chi_p = pchisq(chi, length(coef(fit)), lower.tail = FALSE))
}

# Least squares
d <- read("numbers")
linear("least squares", lm(y ~ a + b + c, d))
linear("least squares, weighted", lm(y ~ a + b + c, d, weights = w))
linear("least squares, weights times 100", lm(y ~ a + b + c, d, weights = 100 * w))
linear("least squares without an intercept", lm(y ~ 0 + a + b + c, d))
linear("least squares, collinear and constant columns", lm(y ~ a + b + c + d + e, cbind(d, d = d$a - 2 * d$b, e = 3)))
linear("least squares, a category", lm(y ~ a + k, d))
linear("least squares, formula of powers", lm(y ~ (a + b + c)^3 - a:b:c + I(a^3) + log(c), d))
linear("least squares, formula with a dot", lm(y ~ a + b + k + poly(a, 3, raw = TRUE):b, d))
linear("least squares, polynomial of degree 5", lm(y ~ poly(c, 5), d))
linear("least squares, effects of sites", lm(y ~ a + b + site, d))
linear("least squares on six rows", lm(y ~ a + b, d[1:6, ]))
fit <- lm(y ~ a + b + c, d)
sandwich("least squares, robust", fit, model.matrix(fit) * resid(fit), fit$df.residual)
fit <- lm(y ~ a + b + c, d, weights = w)
sandwich("least squares, weighted, robust", fit, model.matrix(fit) * resid(fit) * d$w, fit$df.residual)

# Packages that may be absent: the case is left out, and comparison.py says so.
if (requireNamespace("MASS", quietly = TRUE)) {
    fit <- coef(MASS::lm.ridge(y ~ a + b + c, d, lambda = 0.05 * nrow(d)))
    keep("ridge", names = c("(Intercept)", names(fit)[-1]), coefficient = fit)
}
if (requireNamespace("lme4", quietly = TRUE)) {
    exact <- lme4::lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12))
    fit <- coef(summary(lme4::lmer(y ~ a + (1 | site), read("balanced"), control = exact)))["a", ]
    keep("effects of sites in a balanced design", names = "a", coefficient = fit[[1]], std_error = fit[[2]], t = fit[[3]])
}


# Random intercepts. lme4 stops where its optimiser finds no decrease; Newton steps by differences of its own deviance, a
# function of (sd, coefficients) or of the relative sd alone, go on.
differences <- function(f, p, h) {
    n <- length(p)
    at <- function(i, s, j = i, t = 0) { q <- p; q[i] <- q[i] + s * h[i]; q[j] <- q[j] + t * h[j]; f(q) }
    here <- f(p)
    slope <- sapply(seq_len(n), function(i) (8 * (at(i, 1) - at(i, -1)) - at(i, 2) + at(i, -2)) / (12 * h[i]))
    bent <- matrix(0, n, n)
    for (i in seq_len(n)) for (j in seq_len(i)) {
        cross <- function(s) (at(i, s, j, s) - at(i, s, j, -s) - at(i, -s, j, s) + at(i, -s, j, -s)) / (4 * s^2 * h[i] * h[j])
        bent[i, j] <- bent[j, i] <- if (i == j) (16 * (at(i, 1) + at(i, -1)) - at(i, 2) - at(i, -2) - 30 * here) / (12 * h[i]^2)
                                    else (4 * cross(1) - cross(2)) / 3
    }
    list(slope = slope, bent = bent)
}
improve <- function(f, p, scale) {
    for (step in 1:4) {
        now <- differences(f, p, scale)
        p <- p - solve(now$bent, now$slope)
    }
    list(p = p, bent = differences(f, p, scale)$bent)
}
mixed <- function(case, formula, family, nodes, d, with = TRUE) {
    control <- lme4::glmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5), tolPwrss = 1e-13,
                                  check.conv.grad = "ignore")
    fit <- lme4::glmer(formula, d, family, nAGQ = nodes, control = control)
    deviance <- update(fit, devFunOnly = TRUE)
    p <- c(lme4::getME(fit, "theta"), lme4::fixef(fit))
    error <- sqrt(diag(as.matrix(vcov(fit))))
    best <- improve(deviance, p, c(0.004, error / 60))
    estimate <- best$p[-1]
    covariance <- solve(best$bent / 2)
    names(estimate) <- names(lme4::fixef(fit))
    common <- list(case, names(estimate), estimate, sqrt(diag(covariance))[-1], sd = abs(best$p[1]), ratio = exp(estimate))
    if (!with) return(do.call(keep_wald, common))
    likelihood <- -deviance(best$p) / 2
    do.call(keep_wald, c(common, log_likelihood = likelihood, aic = 2 * length(p) - 2 * likelihood, rows = nrow(d)))
}
mixed_linear <- function(case, formula, d) {
    control <- lme4::lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-12), check.conv.singular = "ignore")
    fit <- lme4::lmer(formula, d, REML = FALSE, control = control)
    theta <- lme4::getME(fit, "theta")
    if (theta > 1e-4) {
        theta <- improve(update(fit, devFunOnly = TRUE), theta, 0.002)$p
        fit <- update(fit, start = list(theta = theta),
                      control = lme4::lmerControl(optimizer = NULL, calc.derivs = FALSE, check.conv.singular = "ignore"))
    }
    estimate <- lme4::fixef(fit)
    keep_wald(case, names(estimate), estimate, sqrt(diag(as.matrix(vcov(fit)))), sd = c(theta * sigma(fit), sigma(fit)),
              log_likelihood = as.numeric(logLik(fit)), aic = AIC(fit), bic = BIC(fit), rows = nobs(fit))
}
if (requireNamespace("lme4", quietly = TRUE)) {
    d <- read("wards")
    mixed("random intercept, logistic", y ~ a + b + (1 | ward), binomial, 10, d)
    mixed("random intercept, logistic, Laplace", y ~ a + b + (1 | ward), binomial, 1, d)
    mixed("random intercept, logistic, 25 nodes", y ~ a + b + (1 | ward), binomial, 25, d)
    mixed("random intercept, Poisson", n ~ a + b + (1 | ward), poisson, 10, d, FALSE)
    mixed("random intercept, Poisson, Laplace", n ~ a + b + (1 | ward), poisson, 1, d)
    mixed("random intercept, Poisson, offset", n ~ a + b + offset(o) + (1 | ward), poisson, 10, d, FALSE)
    mixed_linear("random intercept, linear", v ~ a + b + (1 | ward), d)
    mixed_linear("random intercept, linear, singular", u ~ a + b + (1 | ward), d)
}

# Logistic regression
d <- read("classes")
general("logistic", glm(y ~ a + b + c, binomial, d, control = fine))
general("logistic, whole weights", glm(y ~ a + b + c, binomial, d, weights = w, control = fine))
general("logistic without an intercept", glm(y ~ 0 + a + b + c, binomial, d, control = fine))
general("logistic, two categories", glm(y ~ a + k + s, binomial, d, control = fine))
general("logistic, formula", glm(y ~ a * k + poly(c, 2) + factor(w), binomial, d, control = fine))
general("logistic, formula without main effects", glm(y ~ a:k + k:s, binomial, d, control = fine))
general("logistic, formula without an intercept", glm(y ~ k + s + a:s - 1, binomial, d, control = fine))
general("logistic, effects of sites", glm(y ~ a + b + c + site, binomial, d, control = fine))
fit <- glm(y ~ a * k + site, binomial, d, control = fine)
general("logistic, formula and effects of sites", fit)
order <- c(1, 2, 3, 4, 7, 8, 5, 6) # fedplt has sites last
swap <- found[["logistic, formula and effects of sites"]]
for (name in c("names", "coefficient", "std_error", "p", "low", "high", "ratio")) swap[[name]] <- swap[[name]][order]
found[["logistic, formula and effects of sites"]] <- swap
general("logistic, another reference", glm(y ~ a + relevel(factor(k), "z") + s, binomial, d, control = fine))
found[["logistic, another reference"]]$names <- c("(Intercept)", "a", "kx", "ky", "sm")
general("logistic, collinear column", glm(y ~ a + b + c + d, binomial, cbind(d, d = d$a + d$b),
                                          control = glm.control(epsilon = 1e-10)))
fit <- glm(y ~ a + b + c, binomial, d, control = fine)
sandwich("logistic, robust", fit, model.matrix(fit) * (d$y - fitted(fit)))

# Counts
d <- read("counts")
general("Poisson", glm(y ~ a + b, poisson, d, control = fine))
general("Poisson, weighted", glm(y ~ a + b, poisson, d, weights = w, control = fine))
general("Poisson, offset", glm(y ~ a + b + offset(o), poisson, d, control = fine), glm(y ~ 1 + offset(o), poisson, d, control = fine))
general("Poisson, formula", glm(y ~ a * b + I(b^2), poisson, d, control = fine))
fit <- glm(y ~ a + b, poisson, d, control = fine)
sandwich("Poisson, robust", fit, model.matrix(fit) * (d$y - fitted(fit)))
d <- read("steep")
fit <- glm(y ~ a + b, poisson, d, control = fine)
general("Poisson, predictor past the largest count", fit)

# Amounts
d <- read("amounts")
amounts <- Gamma(link = "log")
linked("gamma", glm(y ~ a + b, amounts, d))
linked("gamma, weighted", glm(y ~ a + b, amounts, d, weights = w))
linked("gamma, offset", glm(y ~ a + b + offset(o), amounts, d), glm(y ~ 1 + offset(o), amounts, d, control = fine))
linked("gamma, formula", glm(y ~ a * k + I(b^2), amounts, d))
linked("gamma, amounts times 1e6", glm(y ~ a + b, amounts, transform(d, y = 1e6 * y)))
linked_sandwich("gamma, robust", glm(y ~ a + b, amounts, d))

# Probit
d <- read("classes")
probit <- binomial(link = "probit")
linked("probit", glm(y ~ a + b + c, probit, d))
linked("probit, whole weights", glm(y ~ a + b + c, probit, d, weights = w))
linked("probit, two categories", glm(y ~ a + k + s, probit, d))
linked_sandwich("probit, robust", glm(y ~ a + b + c, probit, d))

# Negative binomial. glm.nb stops where the likelihood changes by 1e-8 of itself: Newton steps in the coefficients and
# log theta, with derivatives by trigamma, take its estimates to the end.
counted <- function(fit, x, y, w, o) {
    p <- ncol(x)
    at <- c(coef(fit), log(fit$theta))
    for (step in 1:50) {
        mu <- exp((x %*% at[1:p])[, 1] + o)
        th <- exp(at[p + 1])
        slope_m <- th * (mu - y) / (mu + th)
        slope_t <- log(th / (mu + th)) + 1 - (y + th) / (mu + th) + digamma(y + th) - digamma(th)
        info <- trigamma(th) - trigamma(y + th) - 1 / th + 2 / (mu + th) - (y + th) / (mu + th)^2
        scores <- cbind(x * slope_m, -slope_t * th)
        hessian <- matrix(0, p + 1, p + 1)
        hessian[1:p, 1:p] <- crossprod(x * sqrt(w * mu * th * (y + th) / (mu + th)^2))
        hessian[p + 1, 1:p] <- hessian[1:p, p + 1] <- crossprod(x, w * th * mu * (mu - y) / (mu + th)^2)
        hessian[p + 1, p + 1] <- sum(w * (info * th^2 - slope_t * th))
        at <- at - solve(hessian, colSums(w * scores))
    }
    expected <- hessian
    expected[1:p, 1:p] <- crossprod(x * sqrt(w * mu * th / (mu + th)))
    expected[p + 1, 1:p] <- expected[1:p, p + 1] <- 0
    list(coefficients = at[1:p], theta = th, bread = solve(expected), scores = scores * w,
         log_likelihood = sum(w * dnbinom(y, size = th, mu = mu, log = TRUE)))
}
negative_binomial <- function(case, d, w = rep(1, nrow(d)), o = rep(0, nrow(d)), robust = FALSE) {
    x <- cbind("(Intercept)" = 1, a = d$a, b = d$b)
    d$w <- w
    d$o <- o
    fit <- counted(glm.nb(y ~ a + b + offset(o), d, weights = w), x, d$y, w, o)
    null <- counted(glm.nb(y ~ 1 + offset(o), d, weights = w), x[, 1, drop = FALSE], d$y, w, o)
    covariance <- if (robust) fit$bread %*% crossprod(fit$scores) %*% fit$bread else fit$bread
    error <- sqrt(diag(covariance))
    chi <- 2 * (fit$log_likelihood - null$log_likelihood)
    keep_wald(case, colnames(x), fit$coefficients, error[1:3], theta = fit$theta, theta_error = fit$theta * error[4],
              log_likelihood = fit$log_likelihood, aic = 8 - 2 * fit$log_likelihood,
              bic = 4 * log(nrow(d)) - 2 * fit$log_likelihood, rows = nrow(d), chi_squared = chi,
              chi_p = pchisq(chi, 2, lower.tail = FALSE), ratio = exp(fit$coefficients))
}
library(MASS)
d <- read("episodes")
negative_binomial("negative binomial", d)
negative_binomial("negative binomial, whole weights", d, w = d$w)
negative_binomial("negative binomial, offset", d, o = d$o)
negative_binomial("negative binomial, robust", d, robust = TRUE)

# Ordered classes: polr, then Newton steps in coefficients and thresholds.
ordinal <- function(case, d, formula, w = rep(1, nrow(d)), robust = FALSE) {
    d$y <- factor(d$y)
    d$w <- w
    fit <- polr(formula, d, weights = w)
    x <- model.matrix(formula, d)[, -1, drop = FALSE]
    y <- as.integer(d$y)
    p <- ncol(x)
    q <- length(fit$zeta)
    at <- c(coef(fit), fit$zeta)
    upper <- cbind(-x, outer(y, 1:q, "=="))
    lower <- cbind(-x, outer(y - 1, 1:q, "=="))
    for (step in 1:50) {
        zeta <- c(-Inf, at[p + 1:q], Inf)
        eta <- (x %*% at[1:p])[, 1]
        a <- zeta[y + 1] - eta
        b <- zeta[y] - eta
        both <- plogis(a) - plogis(b)
        scores <- -(upper * dlogis(a) - lower * dlogis(b)) / both
        bent <- function(u) dlogis(u) * (1 - 2 * plogis(u))
        hessian <- crossprod(scores * sqrt(w)) - crossprod(upper, upper * (w * bent(a) / both)) +
            crossprod(lower, lower * (w * bent(b) / both))
        at <- at - solve(hessian, colSums(w * scores))
    }
    log_likelihood <- sum(w * log(both))
    bread <- solve(hessian)
    covariance <- if (robust) bread %*% crossprod(scores * w) %*% bread else bread
    share <- tapply(w, y, sum) / sum(w)
    chi <- 2 * (log_likelihood - sum(w * log(share[y])))
    keep_wald(case, c(colnames(x), names(fit$zeta)), at, sqrt(diag(covariance)), log_likelihood = log_likelihood,
              aic = 2 * (p + q) - 2 * log_likelihood, bic = (p + q) * log(nrow(d)) - 2 * log_likelihood, rows = nrow(d),
              chi_squared = chi, chi_p = pchisq(chi, p, lower.tail = FALSE), ratio = exp(at[1:p]))
}
d <- read("grades")
ordinal("ordinal", d, y ~ a + b)
ordinal("ordinal, whole weights", d, y ~ a + b, w = d$w)
ordinal("ordinal, a category", d, y ~ a + k)
ordinal("ordinal, robust", d, y ~ a + b, robust = TRUE)

# Several classes, as a log-linear model with an effect of every row [Baker 1994]
d <- read("kinds")
long <- data.frame(row = factor(rep(seq_len(nrow(d)), each = 3)), class = factor(rep(c("p", "q", "r"), nrow(d))))
long$a <- rep(d$a, each = 3)
long$b <- rep(d$b, each = 3)
long$count <- as.numeric(rep(d$y, each = 3) == long$class)
fit <- glm(count ~ row + class + class:a + class:b, poisson, long, control = glm.control(epsilon = 1e-10))
# R leaves the last class's products out: contrasts to the first one from the covariance
contrast <- function(class) {
    m <- matrix(0, 3, length(coef(fit)), dimnames = list(NULL, names(coef(fit))))
    for (i in 1:2) {
        column <- c("a", "b")[i]
        plus <- paste0("class", class, ":", column)
        minus <- paste0("classp:", column)
        if (!is.na(coef(fit)[plus])) m[i, plus] <- 1
        if (!is.na(coef(fit)[minus])) m[i, minus] <- m[i, minus] - 1
    }
    m[3, paste0("class", class)] <- 1
    m
}
m <- rbind(contrast("q"), contrast("r"))
known <- !is.na(coef(fit))
m <- m[, known]
keep_wald("multinomial", rep(c("a", "b", "(Intercept)"), 2), as.numeric(m %*% coef(fit)[known]),
          sqrt(diag(m %*% covariance(fit) %*% t(m))))

# Survival
d <- read("times")
for (ties in c("breslow", "efron")) {
    cox(paste("Cox,", ties), coxph(Surv(time, event) ~ a + b, d, ties = ties, control = finest))
    cox(paste("Cox, formula, strata,", ties), coxph(Surv(time, event) ~ a + poly(b, 2) + a:b + strata(site), d, ties = ties, control = finest))
    cox(paste("Cox, strata,", ties), coxph(Surv(time, event) ~ a + b + strata(site), d, ties = ties, control = finest))
    cox(paste("Cox, weighted,", ties), coxph(Surv(time, event) ~ a + b, d, weights = w, ties = ties, robust = FALSE,
                                             control = finest))
    cox(paste("Cox, robust,", ties), coxph(Surv(time, event) ~ a + b, d, ties = ties, robust = TRUE, control = finest))
    cox(paste("Cox, weighted, strata, robust,", ties),
        coxph(Surv(time, event) ~ a + b + strata(site), d, weights = w, ties = ties, robust = TRUE, control = finest))
}

# Measures of predictions
d <- read("judged")
w <- d$w
keep("evaluate, weighted regression", rmse = sqrt(weighted.mean((d$y - d$p)^2, w)),
     r2 = 1 - sum(w * (d$y - d$p)^2) / sum(w * (d$y - weighted.mean(d$y, w))^2),
     loss = weighted.mean((d$y - d$p)^2, w) / 2)
q <- plogis(d$m)
called <- q > 0.5
right <- sum(w[called & d$z == 1])
pairs <- outer(d$m[d$z == 1], d$m[d$z == 0], function(x, y) (x > y) + (x == y) / 2)
by <- outer(w[d$z == 1], w[d$z == 0])
keep("evaluate, weighted classes", loss = weighted.mean(-ifelse(d$z == 1, log(q), log1p(-q)), w),
     accuracy = weighted.mean(called == d$z, w), brier = weighted.mean((q - d$z)^2, w),
     precision = right / sum(w[called]), recall = right / sum(w[d$z == 1]),
     f1 = 2 * right / (sum(w[called]) + sum(w[d$z == 1])), auc = sum(pairs * by) / sum(by))
mu <- exp(d$m)
keep("evaluate, weighted amounts", loss = weighted.mean(d$g / mu + d$m, w),
     deviance = weighted.mean(Gamma()$dev.resids(d$g, mu, 1), w))
keep("evaluate, weighted classes by probit", brier = weighted.mean((pnorm(d$m) - d$z)^2, w),
     loss = -weighted.mean(pnorm(ifelse(d$z == 1, d$m, -d$m), log.p = TRUE), w))
theta <- 1.7
keep("evaluate, weighted negative binomial counts",
     loss = weighted.mean((d$n + theta) * log1p(mu / theta) - d$n * d$m - lgamma(d$n + theta) + lgamma(theta) +
                          d$n * log(theta), w),
     deviance = weighted.mean(negative.binomial(theta)$dev.resids(d$n, mu, 1), w))
keep("evaluate, weighted counts", loss = weighted.mean(mu - d$n * d$m, w),
     deviance = weighted.mean(poisson()$dev.resids(d$n, mu, 1), w))

number <- function(x) paste0("[", paste(vapply(unname(as.numeric(x)), function(v) if (is.finite(v)) sprintf("%.17g", v) else "null", ""), collapse = ", "), "]")
text <- function(x) paste0("[", paste0("\"", x, "\"", collapse = ", "), "]")
lines <- vapply(names(found), function(case) {
    own <- found[[case]]
    fields <- vapply(names(own), function(name) sprintf("    \"%s\": %s", name, if (is.character(own[[name]])) text(own[[name]]) else number(own[[name]])), "")
    sprintf("  \"%s\": {\n%s\n  }", case, paste(fields, collapse = ",\n"))
}, "")
cat("{\n", paste(lines, collapse = ",\n"), "\n}\n", sep = "")
