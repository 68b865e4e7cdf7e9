package checkpoint

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/optimizer"
)

// CheckNames returns an error if a checkpoint or an inference model could not hold the params' tensors, or if two
// tensors would have the same name. It is called before training begins.
func CheckNames(params []*optimizer.Param) error {
	of := map[string]string{}
	for _, p := range params {
		for _, tensor := range tensorsOf(p) {
			if err := safetensors.CheckName(tensor); err != nil {
				return fmt.Errorf("checkpoint: param %q can't be saved: %w; rename it", p.Name, err)
			}
			if other, taken := of[tensor]; taken {
				return fmt.Errorf("checkpoint: params %q and %q can't be saved beside each other: both have a "+
					"tensor %q; rename one", other, p.Name, tensor)
			}
			of[tensor] = p.Name
		}
	}
	return nil
}

// tensorsOf returns the names that a param's tensors may have. The names of a dense param's blocks end in a range, as
// no other name does.
func tensorsOf(p *optimizer.Param) []string {
	if !p.Embedding {
		return []string{p.Name}
	}
	t := tableInfo{Param: p.Name, Rated: true, Waiting: 1, Forgotten: 1, Dropped: 1, Scored: true, Served: true,
		Gone: 1}
	names := []string{p.Name}
	for _, tensor := range t.tensors() {
		names = append(names, tensor.Name)
	}
	return names
}
