package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/torchtest"
)

// TestTwin: the net learns what PyTorch's does of the same rows, faster.
func TestTwin(t *testing.T) { torchtest.CompareTwin(t, program, 1.2) }

// TestWeightsAreTorchs: from the same weights on the same rows the net and PyTorch's have the same weights, but for what Dropout draws:
// what the two learn differs by nothing else.
func TestWeightsAreTorchs(t *testing.T) { torchtest.SameWeights(t, program, 100, 1e-4, "-drop=0") }
