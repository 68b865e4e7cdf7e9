package server

import (
	"github.com/gofleet/gofleet/internal/count"
	"github.com/gofleet/gofleet/internal/wire"
)

// Meter has a server's counters, and the state of its job. Fields are registered by their tags: name is the metric's
// name, help its text, by a label. Counters are counted where things happen; gauges read a part when they are called.
type Meter struct {
	refused count.Counter `count:"refused" name:"server_refused_requests_total" help:"Requests answered with an error."`

	read   count.Counter `count:"read_rows" name:"server_read_rows_total" help:"Rows sent to readers outside the job."`
	unread count.Counter `count:"refused_reads" name:"server_refused_reads_total" help:"Their refused requests."`

	absent count.Gauge `count:"absent" name:"server_workers" by:"state=absent" help:"Workers, by how they stand."`
	here   count.Gauge `count:"here" name:"server_workers" by:"state=here"`
	left   count.Gauge `count:"left" name:"server_workers" by:"state=left"`
	dead   count.Gauge `count:"dead" name:"server_workers" by:"state=dead"`

	phase   count.Gauge `count:"phase" name:"server_phase" help:"Epochs that all workers have ended."`
	round   count.Gauge `count:"round" name:"server_open_round" help:"The open round of the phase."`
	holding count.Gauge `count:"holding" name:"server_holding" help:"1 while a cut holds pushes."`
	waits   count.Gauge `count:"waits" name:"server_waits" help:"Requests that have waited for over a second."`
	waited  count.Gauge `count:"oldest_wait" name:"server_oldest_wait_seconds" help:"Age of the oldest."`

	journal count.Gauge `count:"journal" name:"server_journal_bytes" help:"Size of the journal's last segment."`
	age     count.Gauge `count:"checkpoint_age" name:"server_checkpoint_age_seconds" help:"Since the last was whole."`
	took    count.Gauge `count:"checkpoint_took" name:"server_checkpoint_seconds" help:"How long the last took."`

	checkpoints count.Counter `count:"checkpoints" name:"server_checkpoints_total" help:"Checkpoints that are whole."`
	returned    count.Gauge   `count:"returned" name:"server_returned_workers_total" help:"Workers started again."`
	life        count.Gauge   `count:"life" name:"server_life" help:"How often it came back from its journal."`

	times []*count.Histogram // of requests, by op
}

var _ = count.Register(new(Meter))

// newMeter makes a meter without gauges, which measure sets.
func newMeter() *Meter { return &Meter{times: wire.Times()} }

// Took is how long requests took, in seconds, by op. It may be called while requests are served.
func (m *Meter) Took() map[string]count.Distribution { return wire.Took(m.times) }
