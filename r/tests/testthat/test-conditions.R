# Errors, interrupts, memory.
test_that("an error is a condition of class fedplt_error with the library's sentence", {
  d <- generated()
  found <- tryCatch(fedplt(y ~ x, d, site, control = fedplt_control(rho = -1)), fedplt_error = identity)
  expect_s3_class(found, "fedplt_bad_value")
  expect_match(conditionMessage(found), "rho is '-1', but it must be a number above 0")
  expect_identical(found$status, "bad-value")
  expect_error(fedplt(y ~ x, d, site, control = fedplt_control(epoks = 3)), "there is no setting 'epoks'; did you mean", class = "fedplt_error")
  expect_error(fedplt(y ~ x, d, site, family = Gamma()), "family is Gamma", class = "fedplt_unsupported")
  expect_error(fedplt(y ~ x, d, 0.5), "whole number", class = "fedplt_error")
  expect_error(fedplt(y ~ x, d, site, penalty = -1), "penalty is -1", class = "fedplt_error")
  expect_error(fedplt_control(3), NA)
  expect_error(predict(fedplt(y ~ g, d, site), data.frame(g = "e")), "new level", class = "fedplt_bad_data")
})

test_that("a callback sees the rounds, stops the run, and its errors are raised", {
  d <- generated()
  seen <- numeric()
  f <- fedplt(y ~ x, d, site, control = fedplt_control(callback = function(round, criterion) { seen <<- c(seen, round); FALSE }))
  expect_identical(seen, as.numeric(0:f$iter))
  expect_warning(f <- fedplt(y ~ x, d, site, control = fedplt_control(callback = function(round, criterion) round >= 2)), "stopped")
  expect_identical(f$iter, 2)
  expect_error(fedplt(y ~ x, d, site, control = fedplt_control(callback = function(...) stop("no thanks"))), "no thanks")
})

# How soon it does so is measured by bench/r.
test_that("an interrupt ends a fit, and what comes after it works", {
  skip_on_os("windows")
  d <- generated()
  ended <- tryCatch(
    fedplt(y ~ x + g + z, d, site, control = fedplt_control(algorithm = "fedavg", rounds = 1e9, tol = 0,
      callback = function(round, criterion) {
        if (round == 500) tools::pskill(Sys.getpid(), tools::SIGINT)
        FALSE
      })),
    interrupt = function(i) "interrupted")
  expect_identical(ended, "interrupted")
  expect_s3_class(fedplt(y ~ x, d, site), "fedplt")
})

test_that("an interrupt from outside ends a fit that nobody watches, and its thread", {
  skip_on_os("windows")
  d <- generated()
  sent <- sprintf("sleep 0.3; kill -INT %d", Sys.getpid())
  system(paste("setsid sh -c", shQuote(sent), "&")) # the sender is not interrupted itself
  ended <- tryCatch(fedplt(y ~ x + g + z, d, site, control = fedplt_control(algorithm = "fedavg", rounds = 1e9, tol = 0)),
                    interrupt = function(i) "interrupted")
  expect_identical(ended, "interrupted")
  expect_s3_class(fedplt(y ~ x, d, site), "fedplt")
})

test_that("costs in R are minimised on R's main thread", {
  target <- rbind(c(1, 2), c(3, -2))
  process <- Sys.getpid()
  found <- fedplt_optim(function(x, agent) { stopifnot(Sys.getpid() == process); sum((x - target[agent, ])^2) / 2 },
                        function(x, agent) x - target[agent, ], dimension = 2, agents = 2)
  expect_lt(max(abs(found$par - c(2, 0))), 1e-6)
  expect_error(fedplt_optim(function(x, agent) stop("no value"), function(x, agent) x, 2), "no value")
  expect_error(fedplt_optim(function(x, agent) 0, function(x, agent) 1, 2), "one double for each coordinate")
})

test_that("a fit is the same under gctorture", {
  d <- generated(30)
  whole <- fedplt(y ~ x + g, d, site)
  gctorture2(step = 50)
  on.exit(gctorture2(0))
  again <- fedplt(y ~ x + g, d, site)
  bad <- tryCatch(fedplt(y ~ x, d, site, control = fedplt_control(rho = -1)), fedplt_error = conditionMessage)
  gctorture2(0)
  expect_identical(coef(whole), coef(again))
  expect_match(bad, "rho")
})

test_that("a saved fit predicts as before", {
  d <- generated()
  f <- fedplt(y ~ x + g, d, site)
  file <- tempfile()
  on.exit(unlink(file))
  saveRDS(f, file)
  expect_identical(predict(f, d[1:5, ]), predict(readRDS(file), d[1:5, ]))
})
