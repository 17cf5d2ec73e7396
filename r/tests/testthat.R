library(testthat)
library(fedplt)
test_check("fedplt")
