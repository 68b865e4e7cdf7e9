package gradient

// Compensate sets w, the weights that a server has come to, to the gradient that takes the place of g there. A worker
// has computed g at the weights that it pulled; with λ
//
//	g + λ·g⊙g⊙(w − pulled)
//
// is a first-order guess of its gradient at w. Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay
// Compensation", ICML 2017. The four are equally long.
func Compensate(w, g, pulled []float32, lambda float32) {
	for i, v := range g {
		w[i] = v + float32(lambda*v*v*(w[i]-pulled[i]))
	}
}
