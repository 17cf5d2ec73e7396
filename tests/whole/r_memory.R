# Small calls of every function of the glue, to be run under valgrind.
library(fedplt)
set.seed(1)
n <- 40
d <- data.frame(x = rnorm(n), g = factor(sample(letters[1:3], n, TRUE)), site = rep(c("a", "b"), 20), y = rbinom(n, 1, 0.5))
fit <- fedplt(y ~ x + g, d, site)
fit <- fedplt(g ~ x, d, site, multinomial())
fit <- fedplt(y ~ x, d, site, penalty = 0.1, privacy = privacy(1, 1e-3, list(x = c(-4, 4))))
stopifnot(verify(fit)$holds)
refused <- tryCatch(fedplt(y ~ x, d, site, control = fedplt_control(rho = -1)), fedplt_error = identity)
stopped <- tryCatch(fedplt(y ~ x, d, site, control = fedplt_control(algorithm = "fedavg", rounds = 1e6, tol = 0,
  callback = function(round, criterion) tools::pskill(Sys.getpid(), tools::SIGINT))), interrupt = function(i) "interrupted")
stopifnot(identical(stopped, "interrupted"))
found <- fedplt_optim(function(x, agent) sum((x - agent)^2) / 2, function(x, agent) x - agent, 2, 2)
failed <- tryCatch(fedplt_optim(function(x, agent) stop("no"), function(x, agent) x, 2), error = identity)
settings <- fedplt_settings()
described <- describe(d, sites = site, by = "y", cross = "g:y", minimum = 2)
refused <- tryCatch(describe(d, by = "nothing"), fedplt_error = identity)
combined <- meta(data.frame(site = 1:3, term = "x", estimate = 1:3, std_error = 1))
tuned <- tune(x = d["x"], y = d$y == 1, sites = d$site, by = "both", rounds = 20, eps = 0.1)
judged <- theory(1, 10)
compared <- compare("fed-plt", runs = 1, agents = 2, rows = 5, features = 2)
if (requireNamespace("Matrix", quietly = TRUE)) {
  X <- Matrix::sparseMatrix(i = 1:n, j = rep(1:4, 10), x = 1)
  y <- d$y
  fit <- fedplt(y ~ ., X, d$site)
}
rm(list = ls())
invisible(gc())
