// Package kernels provides the arithmetic that nn spends its time in: matrix products, elementwise functions and their
// gradients, softmax, and the handling of embedding rows; and numbers in fewer bits for the wire. Everything works on
// contiguous, row-major []float32.
//
//	kernels.Gemm(false, false, batch, out, in, x, w, y, false) // y = x·w, x is batch×in, w is in×out
//	kernels.AddBias(y, bias)                                    // every row of y += bias
//	kernels.ReLU(y, y)                                          // in place
//
// and back:
//
//	kernels.ReLUGrad(dy, y, dy, false)
//	kernels.SumRows(db, dy, true)                               // db += column sums of dy
//	kernels.Gemm(true, false, in, out, batch, x, dy, dw, true)  // dw += xᵀ·dy
//	kernels.Gemm(false, true, batch, in, out, dy, w, dx, false) // dx = dy·wᵀ
//
// # Paths
//
// There is one portable path, written in Go, that is always right; and faster ones in assembly, chosen once by what the
// processor can do: [Path] names the one in use. All of them sit the same exam. A path gives the same bits for the same
// input every time, whatever the number of threads; different paths may differ in the last bits, since they add in
// another order and fuse multiplications with additions. To compare machines bit by bit, make them use the same path:
// the environment variable GODEBUG=cpu.avx512f=off (or cpu.avx2=off) forbids the faster ones.
//
// # Rules
//
// A destination may be one of the sources itself, where a function doesn't say otherwise; slices that overlap in part
// are not allowed. Arithmetic follows IEEE 754: a NaN or an infinity is never replaced by a number to look at.
//
// The package is called from inside the house only, with shapes that were checked before: slices of the wrong length
// are a programming error and panic. Nothing here starts a goroutine that outlives the call.
//
// # Files, in reading order
//
// Paths:
//
//	backend.go                          the loops that make up a path
//	backend_amd64.go, backend_other.go  which ones a processor has
//	check.go                            lengths, before anything is read
//
// Matrix products:
//
//	gemm.go                           Gemm
//	gemm_views.go                     several, of matrices that lie in others
//	gemm_blocked.go                   blocks that fit into caches
//	gemm_job.go                       shared among goroutines
//	gemm_chunk.go                     what one of them does
//	gemm_pack.go, gemm_pack_amd64.go  operands laid out for the innermost loop
//	gemm_portable.go                  the innermost loop
//	packed.go                         with one operand that was laid out before
//	gemv.go                           where one side is a vector
//
// Vectors:
//
//	vector.go                              sums, products, biases
//	vector_portable.go, vector_amd64.go    in Go, and declared for assembly
//	activation.go, activation_portable.go  functions of one element
//	softmax.go                             of rows
//	wide.go, wide_amd64.go                 columns added up in float64
//	finite.go                              NaN and infinities
//
// Rows of embeddings:
//
//	unique.go   ids, each once, with their positions
//	sortids.go  ids in order
//	rows.go     gathered, and added back
//
// Fewer bits:
//
//	narrow.go, narrow_portable.go  numbers of 16 and 8 bits
//	narrow_amd64.go                declared for assembly
//
// Assembly lies in *.s, a file for each kind of processor, over the macros of *.h.
package kernels
