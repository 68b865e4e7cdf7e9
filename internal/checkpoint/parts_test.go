package checkpoint

import (
	"context"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// WritePart writes all of store to dir/file, or the params of the names alone, as they are when it is called. A ctx
// that ends ends it.
func WritePart(ctx context.Context, dir, file string, store *table.Store, names ...string) (Part, error) {
	image := ImageOf(store, names...)
	defer image.Close()
	return WriteImage(ctx, dir, file, image)
}

// Load is load of all params, or of the named ones alone, with their state.
func Load(ctx context.Context, dir string, store *table.Store, rule optimizer.Rule, params []*optimizer.Param,
	owns func(t int, id uint64) bool, names ...string) (Manifest, error) {
	return load(ctx, dir, store, rule, params, owns, Selection{Params: names})
}
