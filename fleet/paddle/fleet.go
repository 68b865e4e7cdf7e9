package paddle

import (
	"context"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/stats"
)

// SaveModel calls [fleet.Fleet.SaveModel] on the default fleet.
func SaveModel(ctx context.Context, dir string, o fleet.SaveOptions) (stats.Saved, error) {
	return fleet.Default().SaveModel(ctx, dir, o)
}

// LoadModel calls [fleet.Fleet.LoadModel] on the default fleet.
func LoadModel(ctx context.Context, dir string, params ...string) error {
	return fleet.Default().LoadModel(ctx, dir, params...)
}

// Shrink calls [fleet.Fleet.Shrink] on the default fleet.
func Shrink(ctx context.Context, o fleet.ShrinkOptions) (map[string]stats.Shrunk, error) {
	return fleet.Default().Shrink(ctx, o)
}

// ServerIndex calls [fleet.Fleet.ServerIndex] on the default fleet.
func ServerIndex() int { return fleet.Default().ServerIndex() }

// ServerEndpoints calls [fleet.Fleet.ServerEndpoints] on the default fleet.
func ServerEndpoints() []string { return fleet.Default().ServerEndpoints() }

// WorkerEndpoints calls [fleet.Fleet.WorkerEndpoints] on the default fleet.
func WorkerEndpoints() []string { return fleet.Default().WorkerEndpoints() }
