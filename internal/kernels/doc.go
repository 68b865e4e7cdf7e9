// Package kernels provides the arithmetic on which nn spends most of its time: matrix products, elementwise functions
// and their gradients, softmax, and the handling of embedding rows; and formats with fewer bits for messages.
// Everything works on contiguous, row-major []float32.
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
// There is one portable path, written in Go, which is the reference, and faster ones in assembly. The fastest one
// that the processor supports is chosen once: AVX-512, else AVX2 on amd64, NEON on arm64. All paths pass the same
// tests. A path gives the same bits for the same input every time, whatever the number of threads. Those in assembly
// add in one order and fuse the same multiplications with additions, and so have the bits of each other, on all
// machines; the portable one may differ in the last bits, as may Log, which all have from Go. The environment
// variable GODEBUG=cpu.avx512f=off (or cpu.avx2=off) disables the faster ones of amd64.
//
// # Rules
//
// A destination may be one of the sources itself, unless a function says otherwise; slices that overlap in part are not
// allowed. Arithmetic follows IEEE 754: a NaN or an infinity is never replaced by a finite number.
//
// Callers are packages of this module, which have checked shapes before: slices of the wrong length are a programming
// error and panic. No function starts a goroutine that outlives the call.
//
// # Files, in reading order
//
// Paths:
//
//	backend.go                                            the loops that make up a path
//	backend_amd64.go, backend_arm64.go, backend_other.go  the paths of a processor
//	check.go                                              checking lengths
//
// Matrix products:
//
//	gemm.go                           Gemm
//	gemm_views.go                     several products, of matrices within larger ones
//	gemm_blocked.go                   in blocks that fit caches
//	gemm_job.go                       on several goroutines
//	gemm_chunk.go                     on one of them
//	gemm_pack.go, gemm_pack_lanes.go  operands laid out for the innermost loop
//	gemm_portable.go                  the innermost loop
//	packed.go                         with one operand that was packed before
//	gemv.go                           of a matrix and a vector
//
// Vectors:
//
//	vector.go                              sums, products, biases
//	vector_portable.go                     the loops in Go
//	vector_amd64.go, vector_arm64.go       and declared for assembly
//	activation.go, activation_portable.go  functions of one element
//	softmax.go                             softmax of rows
//	wide.go, wide_lanes.go                 columns in float64
//	finite.go                              NaN and infinities
//
// Rows of embeddings:
//
//	mix.go      numbers spread over all numbers, and streams of them by name
//	unique.go   the different ids of a batch, and their positions
//	sortids.go  sorting ids
//	rows.go     gathering rows, and adding them back
//
// Fewer bits:
//
//	narrow.go, narrow_portable.go  formats of 16 and 8 bits
//	narrow_lanes.go                the loops, declared for assembly
//
// The assembly is in *.s, a file for each kind of processor, with the macros of *.h; *_lanes.go has what drives it
// on all. Go's assembler has no names for much of NEON: neon_arm64.h gives them. `.ci/outside arm64` plays the tests
// of arm64 on any machine, and prints how many instructions its paths take.
package kernels
