package kernels

import "golang.org/x/sys/cpu"

// fastest returns the best path of this processor.
func fastest() *backend {
	all := paths()
	return all[len(all)-1]
}

// paths returns all paths that this processor can run, the best last.
func paths() []*backend {
	all := []*backend{&portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C {
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
	b.copyPanel, b.turnPanel = copyPanelBlocks, turnPanelBlocks
	b.axpy, b.beyond, b.scaled, b.add, b.mul = axpyAVX2, beyondAVX2, scaledAVX2, addAVX2, mulAVX2
	b.dot, b.sum, b.max = dotAVX2, sumAVX2, maximumAVX2
	b.relu, b.exp, b.sigmoid, b.tanh = reluAVX2, expAVX2, sigmoidAVX2, tanhAVX2
	b.reluGrad, b.sigmoidGrad, b.tanhGrad, b.softmaxGrad = reluGradAVX2, sigmoidGradAVX2, tanhGradAVX2, softmaxGradAVX2
	b.addWide, b.addSquares = byFours(addWideLanes, addWide), byFours(addSquaresLanes, addSquares)
	b.normal = normalByFours
	b.half, b.bfloat, b.int8 = halfLanes, bfloatLanes, int8Lanes
	b.fromHalf, b.fromBFloat, b.fromInt8 = fromHalfLanes, fromBFloatLanes, fromInt8Lanes
	b.gather, b.scatter = gatherAVX2, scatterAVX2
	return b
}

var avx512 = withAVX512(avx2)

func withAVX512(b backend) backend {
	b.name = "avx512"
	b.micro = microKernel{rows: 8, cols: 32, run: micro8x32, half: micro8x16, low: micro2x32}
	b.axpy, b.beyond, b.scaled, b.add, b.mul = axpyAVX512, beyondAVX512, scaledAVX512, addAVX512, mulAVX512
	b.dot, b.sum, b.max = dotAVX512, sumAVX512, maximumAVX512
	b.relu, b.exp, b.sigmoid, b.tanh = reluAVX512, expAVX512, sigmoidAVX512, tanhAVX512
	b.reluGrad, b.sigmoidGrad, b.tanhGrad, b.softmaxGrad = reluGradAVX512, sigmoidGradAVX512, tanhGradAVX512,
		softmaxGradAVX512
	b.gather, b.scatter = gatherAVX512, scatterAVX512
	return b
}

//go:noescape
func micro6x16(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)

//go:noescape
func micro2x32(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)

//go:noescape
func micro8x16(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)

//go:noescape
func micro8x32(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
