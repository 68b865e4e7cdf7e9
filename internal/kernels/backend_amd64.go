package kernels

import "golang.org/x/sys/cpu"

// fastest is the best path of this processor.
func fastest() *backend {
	all := paths()
	return all[len(all)-1]
}

// paths are all that this processor can run, the best last.
func paths() []*backend {
	all := []*backend{&portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, &avx2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW {
			all = append(all, &avx512)
		}
	}
	return all
}

var avx2 = withAVX2(portable)

func withAVX2(b backend) backend {
	b.name = "avx2"
	b.micro = microKernel{rows: 6, cols: 16, run: micro6x16}
	return b
}

var avx512 = withAVX512(avx2)

func withAVX512(b backend) backend {
	b.name = "avx512"
	b.micro = microKernel{rows: 8, cols: 32, run: micro8x32}
	return b
}

//go:noescape
func micro6x16(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)

//go:noescape
func micro8x32(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)
