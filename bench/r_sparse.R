# A fit of a sparse matrix: peak memory above that before, in sizes of the matrix. usage: r_sparse.R ROWS
n <- as.numeric(commandArgs(TRUE)[1L])
memory <- function(field) {
  line <- grep(field, readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
columns <- 200L
each <- 20L # entries of a row
set.seed(1)
X <- Matrix::sparseMatrix(i = rep(seq_len(n), each = each), j = as.vector(replicate(n, sample.int(columns, each))), x = rnorm(each * n))
y <- rbinom(n, 1, plogis(as.vector(X[, 1L] - X[, 2L])))
site <- rep(1:10, each = ceiling(n / 10))[seq_len(n)]
size <- as.numeric(object.size(X)) / 2^20
warm <- fedplt::fedplt_fit(X[1:1000, ], y[1:1000], penalty = 0.1)
rm(warm)
invisible(gc())
writeLines("5", "/proc/self/clear_refs") # the peak begins here
before <- memory("VmRSS")
time <- system.time(fit <- fedplt::fedplt_fit(X, y, site))
cat(sprintf("sparse, %.0f x %d: %.2f s (%.2f s of processor), %.0f MB above the %.0f MB before, %.2f times the matrix of %.0f MB\n", n, columns,
            time[["elapsed"]], time[["user.self"]] + time[["sys.self"]], memory("VmHWM") - before, before, (memory("VmHWM") - before) / size, size))
