package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/torchtest"
)

// TestTwin: the net learns what PyTorch's does of the same rows, faster.
func TestTwin(t *testing.T) { torchtest.CompareTwin(t, program, 1.2) }

// TestWeightsAreTorchs: from the same weights on the same rows the net and PyTorch's have the same weights. Where a unit is all but 0
// before its ReLU, rounding decides whether it has a gradient, and Adam makes a step of the least: with an epsilon of 1e-4, PyTorch in
// float32 and in float64 are 6.0e-3 apart after a hundred steps, and the net is 5.1e-3 from the first and 5.8e-3 from the second. In the
// fifty steps before such a unit comes, with 1e-3, the net and PyTorch are 1.2e-7 apart.
func TestWeightsAreTorchs(t *testing.T) { torchtest.SameWeights(t, program, 50, 1e-3) }
