package table

// Image is what a store was at one moment, for who saves it while steps go on: it takes no longer to make than to lock
// every shard once. What is about to be changed and has not been read is copied first, each row and each chunk of a
// dense block once; what has been read is copied no more. So an image takes the memory of the rows, and of the dense
// chunks, that were changed before they were read. While dense blocks are read, a change that would bring the copies of
// chunks above 16 MiB waits for the reader, for 10 s at most.
//
// An image has a store to itself: another is made when it is closed.
type Image struct {
	// Step is the update up to which all are in the image.
	Step int64
	// Chain is what was saved of the store for serving.
	Chain  Chain
	Blocks []*BlockImage
	Tables []*TableImage

	store *Store
}

// Image makes an image of the blocks and tables whose params which names. No update may be under way, as a cut sees to.
func (s *Store) Image(which func(param string) bool) *Image { return s.image(which, imaging{}) }

// TakeImage makes an image of everything, in tables that are tracked ([Sparse.Track]), which knows what has changed
// since the last that was made so; the first time all.
func (s *Store) TakeImage() *Image { return s.image(everything, imaging{taking: true}) }

// TakeChanges is TakeImage for a reader of changed rows alone: others are not copied when
// they are about to change.
func (s *Store) TakeChanges() *Image { return s.image(everything, imaging{taking: true, alone: true}) }

func everything(string) bool { return true }

// imaging is what an image is for.
type imaging struct {
	taking bool // it knows what has changed
	alone  bool // it has no other rows
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

// Close ends an image, read or not. It may be called twice.
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
