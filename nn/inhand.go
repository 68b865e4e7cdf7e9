package nn

import (
	"math"
	"reflect"
	"unsafe"

	"gorgonia.org/tensor"
)

// Floats makes a feed for a [Graph.Input] from a slice of examples with the given shape, one after the other. Without a
// shape an example is one number. The slice is used, not copied.
//
//	feed := map[string]*tensor.Dense{"x": nn.Floats(x, 5), "label": nn.Floats(label)} // [N 5] and [N 1]
//
// If the slice does not hold a whole number of examples, the result is one-dimensional, and Train and Eval return an
// error that names the feed.
func Floats(values []float32, shape ...int) *tensor.Dense { return inHand(values, shape) }

// Ints is Floats for ids or class labels.
func Ints(values []int64, shape ...int) *tensor.Dense { return inHand(values, shape) }

// IDs is Floats for 64-bit ids, from 0 to 2⁶⁴−1.
func IDs(values []uint64, shape ...int) *tensor.Dense { return inHand(values, shape) }

// Slots makes the two feeds of a [Graph.Slot] from the ids of each example, or of its [Graph.SlotValues]: the values
// and their offsets:
//
//	feed["words"], feed["words.offsets"] = nn.Slots([][]int64{{7, 9}, {3}})
func Slots[T int64 | uint64 | float32](examples [][]T) (ids, offsets *tensor.Dense) {
	var all []T
	ends := make([]int64, 1, len(examples)+1)
	for _, e := range examples {
		all = append(all, e...)
		ends = append(ends, int64(len(all)))
	}
	return flat(all), flat(ends)
}

// inHand returns a tensor [N, shape...] of the values, or [len] if they do not fit the shape.
func inHand[T any](values []T, shape []int) *tensor.Dense {
	if len(shape) == 0 {
		shape = []int{1}
	}
	each := 1
	for _, d := range shape {
		if each *= d; d < 1 || each > len(values) {
			return flat(values)
		}
	}
	if len(values)%each != 0 {
		return flat(values)
	}
	return tensor.New(tensor.WithShape(append([]int{len(values) / each}, shape...)...), tensor.WithBacking(values))
}

// flat returns a tensor [len] of the values. One of none has memory all the same, since its Data would panic without.
func flat[T any](values []T) *tensor.Dense {
	if len(values) == 0 {
		return tensor.New(tensor.WithShape(0), tensor.Of(tensor.Dtype{Type: reflect.TypeFor[T]()}),
			tensor.FromMemory(uintptr(unsafe.Pointer(&none)), 1))
	}
	return tensor.New(tensor.WithShape(len(values)), tensor.WithBacking(values))
}

var none byte

// Scalar returns the number in a fetch of one element, such as a loss or an AUC; NaN for any other tensor.
//
//	out, err := exe.Train(ctx, feed, loss, auc)
//	…
//	fmt.Printf("loss %.4f, auc %.4f\n", nn.Scalar(out[0]), nn.Scalar(out[1]))
func Scalar(fetched *tensor.Dense) float64 {
	if fetched == nil || fetched.Shape().TotalSize() != 1 {
		return math.NaN()
	}
	switch v := fetched.Data().(type) { // a shape of no dimensions has the number itself
	case []float32:
		return float64(v[0])
	case float32:
		return float64(v)
	case []int64:
		return float64(v[0])
	case int64:
		return float64(v)
	case []uint64:
		return float64(v[0])
	case uint64:
		return float64(v)
	}
	return math.NaN()
}
