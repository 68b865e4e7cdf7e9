package main

import "github.com/gofleet/gofleet/examples/internal/job"

func main() { job.Main("ctr_dnn", parse, run) }
