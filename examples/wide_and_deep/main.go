package main

import "github.com/gofleet/gofleet/examples/internal/job"

func main() { job.Main("wide_and_deep", parse, run) }
