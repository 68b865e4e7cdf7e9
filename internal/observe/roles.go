package observe

import (
	"slices"
	"sync"
)

// roles has a value of each role of this process, usually of one.
type roles[T any] struct {
	mu  sync.Mutex
	all []*role[T]
}

type role[T any] struct {
	name string
	is   func() T
}

// add adds a role, in place of an earlier one of the same name, until leave is called.
func (r *roles[T]) add(name string, is func() T) (leave func()) {
	own := &role[T]{name, is}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(slices.DeleteFunc(r.all, func(o *role[T]) bool { return o.name == name }), own)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(o *role[T]) bool { return o == own })
	}
}

// now asks all roles.
func (r *roles[T]) now() (all []T) {
	r.mu.Lock()
	those := slices.Clone(r.all)
	r.mu.Unlock()
	for _, of := range those {
		all = append(all, of.is())
	}
	return all
}

// places has what this process serves at each address, until it ends.
type places[T any] struct {
	mu sync.Mutex
	at map[string]T
}

// open returns what is served at an address, which the first call begins.
func (p *places[T]) open(addr string, begin func() (T, error)) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if is, known := p.at[addr]; known {
		return is, nil
	}
	is, err := begin()
	if err == nil {
		if p.at == nil {
			p.at = map[string]T{}
		}
		p.at[addr] = is
	}
	return is, err
}
