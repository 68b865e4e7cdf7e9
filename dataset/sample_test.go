package dataset

import (
	"os"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

func TestCriteoSample(t *testing.T) {
	clicks, rows := float32(0), 0
	for batch, err := range FromFiles(CriteoSlots(), "testdata/criteo_sample_80.slots.txt").Batches(32) {
		law.Check(t, err)
		labels, dense, ids := batch["label"].Data().([]float32), batch["dense_input"].Data().([]float32), batch["C"].Data().([]int64)
		if rows == 0 && (dense[1] != 0.00497512437811 || dense[12] != 0.08 || ids[0] != 737395 || ids[25] != 306163 || labels[1] != 1) {
			t.Errorf("first row: %v %v", dense[:13], ids[:26])
		}
		for _, y := range labels {
			clicks += y
		}
		rows += len(labels)
	}
	if rows != 80 || clicks != 23 {
		t.Errorf("%v clicks in %d rows, want 23 in 80", clicks, rows)
	}
}

// The sample written as multi-slot text has the same rows.
func TestCriteoMultiSlot(t *testing.T) {
	text, err := os.ReadFile("testdata/criteo_sample_80.slots.txt")
	law.Check(t, err)
	var multi strings.Builder
	for line := range strings.Lines(string(text)) {
		var dense, ids, label string
		for pair := range strings.FieldsSeq(line) {
			switch slot, value, _ := strings.Cut(pair, ":"); slot {
			case "click":
				label = value
			case "dense_feature":
				dense += " " + value
			default:
				ids += " 1 " + value
			}
		}
		multi.WriteString("13" + dense + ids + " 1 " + label + "\n")
	}
	want, err := readAll(CriteoSlots(), string(text))
	law.Check(t, err)
	got, err := readAll(CriteoMultiSlot(), multi.String())
	law.Check(t, err)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d is %s, want %s", i, got[i], want[i])
		}
	}
}
