# Promises, certificates and their verification.
test_that("a private fit carries a certificate that holds, and has no standard errors", {
  d <- generated()
  f <- fedplt(y ~ x + g, d, site, penalty = 0.1, subset = !is.na(x),
              privacy = privacy(2, 1e-5, list(x = c(-4, 4))))
  v <- verify(f)
  expect_true(v$holds)
  expect_lte(v$epsilon, 2)
  expect_output(print(v), "The certificate holds")
  expect_output(print(f), "-differential[[:space:]]+privacy[[:space:]]+allows")
  expect_error(vcov(f), "trained with privacy", class = "fedplt_error")
  expect_output(print(summary(f)), "Note: the model was trained with privacy")
  expect_true(verify(certificate(f))$holds)
  spoiled <- sub("\"epsilon\": *[0-9.e+-]+", "\"epsilon\": 0.001", certificate(f))
  expect_false(identical(spoiled, certificate(f)))
  expect_false(verify(spoiled)$holds)
})

test_that("bounds scale columns to public ranges, and are never read from the rows", {
  d <- generated()
  d <- d[!is.na(d$x), ]
  expect_error(fedplt(y ~ x + z, d, site, penalty = 0.1, privacy = privacy(1, bounds = list(x = c(-4, 4)))),
               "no range for the column 'z'", class = "fedplt_error")
  # so little noise that what is left is the fit without: the scaling is undone in the coefficients
  near <- fedplt(y ~ x + z, d, site, penalty = 0.01,
                 privacy = privacy(1e6, bounds = list(x = c(-5, 5), z = c(0, 100)), noise = "simulated"))
  x <- cbind((d$x) / 5, (d$z - 50) / 50)
  plain <- fedplt_fit(x, d$y, d$site, penalty = 0.01)
  expected <- c(coef(plain)[[1]] - coef(plain)[[3]], coef(plain)[2:3] / c(5, 50))
  expect_lt(max(abs(coef(near) - expected)), 0.05)
  expect_error(privacy(1, bounds = c(1, 2)), "bounds", class = "fedplt_error")
  expect_error(privacy(), "epsilon", class = "fedplt_error")
  expect_error(verify(fedplt(y ~ x, d, site)), "no certificate", class = "fedplt_error")
  expect_output(print(privacy(1, bounds = 2)), "rows longer than 2 are shortened")
})
