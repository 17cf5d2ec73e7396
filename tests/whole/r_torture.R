# Runs r_memory.R with a garbage collection at every seventh allocation inside the glue, and prints which routines were called so.
# usage: Rscript r_torture.R FOLDER-OF-THIS-FILE
library(fedplt)
space <- asNamespace("fedplt")
seen <- character()
shim <- new.env(parent = space)
shim$.Call <- function(routine, ...) {
  seen <<- union(seen, routine$name)
  arguments <- list(...) # evaluated without torture
  gctorture2(step = 7)
  on.exit(gctorture2(0))
  do.call(base::.Call, c(list(routine), arguments), quote = TRUE)
}
for (name in ls(space, all.names = TRUE)) {
  f <- space[[name]]
  if (!is.function(f) || !identical(environment(f), space)) next
  environment(f) <- shim # which also leaves the compiled form
  unlockBinding(name, space)
  assign(name, f, space)
  exported <- as.environment("package:fedplt")
  if (exists(name, exported, inherits = FALSE)) {
    unlockBinding(name, exported)
    assign(name, f, exported)
  }
}
methods <- space[[".__S3MethodsTable__."]] # of the package's own generics, which hold copies
for (name in ls(methods)) if (exists(name, space, inherits = FALSE)) assign(name, space[[name]], methods)
source(file.path(commandArgs(TRUE)[1L], "r_memory.R"), local = new.env()) # which it empties at its end
cat("tortured:", sort(seen), "\n")
