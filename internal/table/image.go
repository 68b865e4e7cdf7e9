package table

// Image is the state of a store at one moment, to be saved while steps go on: making it takes only as long as locking
// every shard once. Values that are about to change and have not been read are copied first, each row and each chunk of
// a dense block once; values that have been read are not copied any more. So an image takes the memory of the rows, and
// of the dense chunks, that change before they are read. While dense blocks are read, a change that would bring the
// copies of chunks above 16 MiB waits for the reader, for 10 s at most.
//
// A store has one image at a time: another is made when it is closed.
type Image struct {
	// Step is the last update in the image, with all before it.
	Step int64
	// Chain has the models for serving that were saved of the store.
	Chain  Chain
	Blocks []*BlockImage
	Tables []*TableImage

	store *Store
}

// Image makes an image of the blocks and tables of params for which which returns true. No update may be under way,
// which a cut ensures.
func (s *Store) Image(which func(param string) bool) *Image { return s.image(which, imaging{}) }

// TakeImage makes an image of everything, in tables that are tracked ([Sparse.Track]). It takes the changes since the
// last such image; the first time, everything has changed.
func (s *Store) TakeImage() *Image { return s.image(everything, imaging{taking: true}) }

// TakeChanges is TakeImage for a reader of changed rows alone: unchanged rows are not copied when they are about to
// change.
func (s *Store) TakeChanges() *Image { return s.image(everything, imaging{taking: true, alone: true}) }

func everything(string) bool { return true }

// imaging is the purpose of an image.
type imaging struct {
	taking bool // it takes the changes
	alone  bool // it has only changed rows
}

func (s *Store) image(which func(param string) bool, how imaging) *Image {
	s.imaging.Lock()
	m := &Image{Step: s.Step(), Chain: s.Chain(), store: s}
	r := new(room)
	for _, b := range s.Blocks {
		if which(b.Param.Name) {
			m.Blocks = append(m.Blocks, &BlockImage{Block: b, image: b.Values.image(r)})
		}
	}
	for _, t := range s.Tables {
		if which(t.param.Name) {
			m.Tables = append(m.Tables, newTableImage(t, m.Step, how))
		}
	}
	return m
}

// Close ends an image, whether it was read or not. It may be called twice.
func (m *Image) Close() {
	if m.store == nil {
		return
	}
	for _, b := range m.Blocks {
		b.image.close()
	}
	for _, t := range m.Tables {
		t.close()
	}
	m.store.imaging.Unlock()
	m.store = nil
}
