package optimizer

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/gofleet/gofleet/optimizer/lr"
)

// inspect checks a rule or an initializer, field by field: it calls every [Checker] in it, and returns an error for
// values that print as an address. Processes compare both by their printed form, and a pointer to a [PerParam] or an
// [SGD] is another type than trainers look for.
//
// v is the interface that holds it; in reports whether a value around v prints v itself.
func inspect(v reflect.Value, in bool) error {
	switch v.Kind() {
	case reflect.Interface:
		return inspectHeld(v, in)
	case reflect.Struct:
		return inspectStruct(v, in || printsItself(v))
	case reflect.Slice, reflect.Array, reflect.Map:
		return inspectAll(v, in || printsItself(v))
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !in && !v.IsZero() && !printsItself(v) {
			return fmt.Errorf("%v prints as an address, and processes compare rules, schedules and initializers by "+
				"what they print: hold the value itself, or give the type a String method that says what it holds",
				v.Type())
		}
	}
	return nil
}

// inspectHeld is inspect for the value in an interface.
func inspectHeld(v reflect.Value, in bool) error {
	held := v.Elem()
	if held.Kind() == reflect.Pointer && (!in || isPart(v.Type())) {
		return aPointer(held.Type().Elem(), v.Type())
	}
	if err := askCheck(held); err != nil {
		return err
	}
	return inspect(held, in)
}

func aPointer(to, as reflect.Type) error {
	how := fmt.Sprintf("write %v{…} without the &", to)
	if !to.Implements(as) {
		how = fmt.Sprintf("give the methods of %v value receivers, and write %[1]v{…}", to)
	}
	return fmt.Errorf("*%v is a pointer: %s: rules, schedules and initializers are values, which processes compare "+
		"by what they print", to, how)
}

// isPart reports whether an interface is a part of rules.
func isPart(t reflect.Type) bool {
	return t == reflect.TypeFor[Rule]() || t == reflect.TypeFor[lr.Schedule]() || t == reflect.TypeFor[Initializer]()
}

// askCheck returns the result of Check, of a value that has one, or of a rule of this package.
func askCheck(v reflect.Value) error {
	if !v.IsValid() || !v.CanInterface() {
		return nil
	}
	switch c := v.Interface().(type) {
	case interface{ Check() error }:
		return c.Check()
	case interface{ check() error }:
		return c.check()
	}
	return nil
}

func inspectStruct(v reflect.Value, in bool) error {
	var errs []error
	for i := range v.NumField() {
		f := v.Type().Field(i)
		look := inspectPart
		if f.Anonymous { // an embedded part has lent its Check
			look = inspect
		}
		if err := look(v.Field(i), in); err != nil {
			errs = append(errs, within(fmt.Sprintf("%s of %v", f.Name, v.Type()), err))
		}
	}
	return errors.Join(errs...)
}

// inspectPart is inspect for a field or an element, which may have a Check without an interface around it.
func inspectPart(v reflect.Value, in bool) error {
	if v.Kind() != reflect.Interface {
		if err := askCheck(v); err != nil {
			return err
		}
	}
	return inspect(v, in)
}

func inspectAll(v reflect.Value, in bool) error {
	if isFlat(v.Type()) {
		return nil
	}
	var errs []error
	for k, e := range v.Seq2() {
		if err := inspectPart(e, in); err != nil {
			errs = append(errs, within(fmt.Sprintf("[%#v]", k), err))
		}
	}
	return errors.Join(errs...)
}

// isFlat reports whether a type holds only numbers and strings, of which there may be millions.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return isFlat(t.Elem())
	case reflect.Map:
		return isFlat(t.Key()) && isFlat(t.Elem())
	}
	return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}

// printsItself reports whether v has a method for its printed form.
func printsItself(v reflect.Value) bool {
	if !v.CanInterface() {
		return false
	}
	switch v.Interface().(type) {
	case fmt.Formatter, fmt.Stringer, error:
		return true
	}
	return false
}

// within adds the place of an error.
func within(at string, err error) error {
	if err == nil {
		return nil
	}
	return &placed{at, err}
}

type placed struct {
	at  string
	err error
}

func (p *placed) Error() string {
	return fmt.Sprintf("optimizer: %s: %s", p.at, strings.TrimPrefix(p.err.Error(), "optimizer: "))
}

func (p *placed) Unwrap() error { return p.err }

// prefixed returns the error with the package's name as prefix.
func prefixed(err error) error {
	if strings.HasPrefix(err.Error(), "optimizer: ") {
		return err
	}
	return fmt.Errorf("optimizer: %w", err)
}
