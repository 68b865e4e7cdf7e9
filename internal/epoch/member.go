package epoch

// Member is a worker's state machine. Its caller sends [Member.At] until an answer comes, does what that says, and
// reports it.
//
//	       Begin                   Begun
//	asks ──────────────> knows the job ────────> asks
//	       Train, Stop             Due, Ended
//	asks ──────────────> trains ───────────────> asks
//	       Measure, Act, End, Rest, Choose    Did, Failed, Chose
//	asks ─────────────────────────> does it ───────────────> asks
//	       Over
//	asks ──────────────> over
type Member struct {
	at   At
	told *Told // what it does now; nil while it asks
}

// NewMember returns the member of a process that begins, with samples left from an epoch on. of has its worker, its
// life, and what it brings.
func NewMember(of At, first int) *Member {
	of.Epoch, of.Ended, of.Begins = first-1, true, true
	return &Member{at: of}
}

// At returns the message to be sent, which is the same until the member is told what to do.
func (m *Member) At() At { return m.at }

// Told handles an answer, and reports whether it is an order to the last message: then it is to be done. Without an
// order the member asks again.
func (m *Member) Told(t *Told) bool {
	if m.told != nil || t.N != m.at.N || t.Do == "" {
		return false
	}
	m.told = t
	m.at.Epochs = max(m.at.Epochs, t.Epochs)
	if m.at.Known = max(m.at.Known, t.Known); m.at.Begins {
		m.at.Epoch = t.First - 1
	}
	return true
}

// Doing returns what the member was told to do, nil while it asks.
func (m *Member) Doing() *Told { return m.told }

// Wants records that a worker wants to stop the job. The first reason counts.
func (m *Member) Wants(why string) {
	if m.at.Stop == "" {
		m.at.Stop = why
	}
}

// Begun reports that it knows the job, which has so many epochs, whether it can train what a lost one has left, and
// whether members know their own samples alone.
func (m *Member) Begun(epochs int, leases, apart bool) {
	m.asks(Begin, nil)
	m.at.Epochs, m.at.Leases, m.at.Apart, m.at.Stands = epochs, leases, apart, nil
}

// Chooses reports that the job chooses its epochs one at a time. It is called before Begun, of the epochs that the
// member was told of.
func (m *Member) Chooses() { m.at.Chooses = true }

// Chose reports what the next epoch is, nil if that is not known yet, or that the job has had its last.
func (m *Member) Chose(chosen []byte, last bool) {
	m.asks(Choose, chosen)
	m.at.Last = last
}

// Due reports that the member stands between two steps, to evaluate, with what it brings there.
func (m *Member) Due(brings []byte) {
	m.asks(Train, nil)
	m.at.For, m.at.Stands = m.at.Known+1, brings
}

// Ended reports that its share of the epoch is trained, or that training has stopped, with what it brings there.
func (m *Member) Ended(brings []byte) {
	m.asks(m.told.Do, nil)
	m.at.Ended, m.at.Stands = true, brings
}

// Did reports that what it was told is done, with what it brings: the share that was measured, or what it remembers.
func (m *Member) Did(brought []byte) {
	t := m.told
	m.asks(t.Do, brought)
	switch t.Do {
	case Act:
		m.at.Known, m.at.Saw, m.at.Stands = t.Made.Number, t.Try, nil // the others have it
		if t.Lead == m.at.Worker {
			m.at.Shown = t.Made.Number
		}
	case End:
		m.at.Led = t.Lead == m.at.Worker || m.at.Led && m.at.Closed == t.Epoch+1
		m.at.Closed, m.at.Try = t.Epoch+1, t.Try
	}
}

// Failed reports that another's rest could not be trained.
func (m *Member) Failed() {
	m.asks(Rest, nil)
	m.at.Failed = true
}

// asks begins the next message.
func (m *Member) asks(did Do, brought []byte) {
	if m.told.Do == Train {
		m.at.Epoch, m.at.Ended = m.told.Epoch, false
	}
	m.at.Did, m.at.Brought, m.at.Failed, m.at.Begins, m.at.Last = did, brought, false, false, false
	m.at.N++
	m.told = nil
}
