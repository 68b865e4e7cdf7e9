package cut

import (
	"github.com/gofleet/gofleet/internal/wire"
)

// Task is what a cut is for. A worker asks for it; the same value, with what server 0 and the worker learn during the
// cut, reaches every server, and the checkpoint's manifest. A Save together with a Shrink is one cut.
type Task struct {
	Save   *Save   `json:"save,omitempty"`   // a checkpoint
	Shrink *Shrink `json:"shrink,omitempty"` // the end of a period
	Read   bool    `json:"read,omitempty"`   // a model for inference
	Serve  *Serve  `json:"serve,omitempty"`  // a model for serving
	Load   *Load   `json:"load,omitempty"`   // tables that are replaced
}

// Save is a checkpoint that servers write.
type Save struct {
	// Dir is "" for one of the job's own, until server 0 has made a directory for it.
	Dir string `json:"dir,omitempty"`
	// Params are the names of the params to write; none means all.
	Params []string `json:"params,omitempty"`
	// Progress is for one of the job's own: at the time of the request, and then when all servers hold.
	Progress *wire.Progress `json:"progress,omitempty"`
	// Base is the id of the checkpoint on which this one is based, "" for none. Server 0 sets it when all servers hold.
	Base string `json:"base,omitempty"`
	// ID is in the names of its files. Each server sets it, by the number of the cut.
	ID string `json:"-"`
}

// Shrink is the end of a period.
type Shrink struct {
	wire.Shrink
	// Met counts the collectives that the worker has behind it, and what it was told in the job's epochs: calls before
	// and after one of these end two periods.
	Met uint64 `json:"met,omitempty"`
}

// Serve is a model for serving.
type Serve struct {
	wire.Serving
	// Chain is of the models that are served, this one included. The worker brings it when the model is whole.
	Chain wire.Chain `json:"chain,omitzero"`
}

// Load replaces tables by a directory's.
type Load struct {
	Dir string `json:"dir"`
	// Params are the names of the params to load; none means all.
	Params []string `json:"params,omitempty"`
	Worker int      `json:"worker,omitempty"` // whose call it is
	// Found is what all servers have found in the directory.
	Found string `json:"found,omitempty"`
}

// Plan returns the works of the task.
func (t Task) Plan() (p Plan) {
	add := func(is bool, works ...Work) {
		if is {
			p = append(p, works...)
		}
	}
	add(t.Save != nil, Write, Commit)
	add(t.Shrink != nil, End)
	add(t.Read, Read)
	add(t.Serve != nil, Read, Mark)
	add(t.Load != nil, Read, Take)
	return p
}

// dir returns the directory of a checkpoint that has one by name.
func (t Task) dir() string {
	if t.Save == nil {
		return ""
	}
	return t.Save.Dir
}
