package fluid

import (
	"fmt"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/mat"
)

// Growth returns the growth rate of small disturbances of the fixed point of c: the largest real
// part, in 1/s, of the characteristic roots of equations 8 to 12, linearised there. Below 0 the
// flows converge, above 0 they end in a limit cycle. PFC and the limits of queues are not modelled.
//
// With x = (α, R_T, R_C, q) and the delayed R_C and q, x' = A x(t) + B x(t-τ*). The roots are
// those of the generator of that equation's semigroup, discretised on Chebyshev points of [-τ*, 0]
// (Breda, Maset, Vermiglio, SIAM J. Sci. Comput. 27, 2005).
func Growth(c Config) (float64, error) {
	at, err := FixedPoint(c)
	if err != nil {
		return 0, err
	}
	if !at.Equilibrium {
		return math.Inf(1), nil
	}
	a, b := c.linear(at)
	const (
		n = 4  // states
		m = 24 // intervals of [-τ*, 0]
	)
	// Row block 0 is the equation itself, blocks 1..m are the derivative along [-τ*, 0]. Point 0 is
	// the present, point m is -τ*.
	tau := c.Delay.Seconds()
	diffMatrix := chebyshev(m)
	g := mat.NewDense(n*(m+1), n*(m+1), nil)
	for i := range n {
		for j := range n {
			g.Set(i, j, a[i][j])
			g.Set(i, n*m+j, b[i][j])
		}
	}
	for k := 1; k <= m; k++ {
		for j := 0; j <= m; j++ {
			for i := range n {
				g.Set(n*k+i, n*j+i, diffMatrix[k][j]*2/tau)
			}
		}
	}
	var eigen mat.Eigen
	if !eigen.Factorize(g, mat.EigenNone) {
		return 0, fmt.Errorf("fluid: the characteristic roots at %+v did not converge", at)
	}
	growth := math.Inf(-1)
	for _, root := range eigen.Values(nil) {
		if !cmplx.IsNaN(root) {
			growth = max(growth, real(root))
		}
	}
	return growth, nil
}

// linear returns A and B for states scaled to order 1: α, R/C, q/Kmax.
func (c *Config) linear(at Point) (a, b [4][4]float64) {
	d := c.dcqcn()
	n, k := c.flows(), d.kmax
	x := flow{at.Alpha, c.rate(at.Target), d.maxRate / n}
	h := d.feedbackAt(at.Mark, x.current)
	rates := func(x flow, h feedback) [3]float64 {
		y := d.derivative(x, h)
		return [3]float64{y.alpha, y.target / d.maxRate, y.current / d.maxRate}
	}
	differentiate := func(m *[4][4]float64, col int, delta, unit float64,
		f func(delta float64) [3]float64) {
		up, down := f(delta), f(-delta)
		for i := range up {
			m[i][col] = (up[i] - down[i]) / (2 * delta) * unit
		}
	}
	const epsilon = 1e-5
	differentiate(&a, 0, epsilon, 1, func(delta float64) [3]float64 {
		return rates(flow{x.alpha + delta, x.target, x.current}, h)
	})
	differentiate(&a, 1, epsilon*x.target, d.maxRate, func(delta float64) [3]float64 {
		return rates(flow{x.alpha, x.target + delta, x.current}, h)
	})
	differentiate(&a, 2, epsilon*x.current, d.maxRate, func(delta float64) [3]float64 {
		return rates(flow{x.alpha, x.target, x.current + delta}, h)
	})
	a[3][2] = n * d.maxRate / k
	differentiate(&b, 2, epsilon*x.current, d.maxRate, func(delta float64) [3]float64 {
		return rates(x, d.feedbackAt(at.Mark, x.current+delta))
	})
	differentiate(&b, 3, epsilon*at.Mark, d.slope*k, func(delta float64) [3]float64 {
		return rates(x, d.feedbackAt(at.Mark+delta, x.current))
	})
	return a, b
}

// chebyshev returns the differentiation matrix on m+1 Chebyshev points of [-1, 1] in descending
// order (Trefethen, Spectral Methods in MATLAB, chapter 6).
func chebyshev(m int) [][]float64 {
	x, c := make([]float64, m+1), make([]float64, m+1)
	for i := range x {
		x[i] = math.Cos(math.Pi * float64(i) / float64(m))
		c[i] = 1
		if i%2 == 1 {
			c[i] = -1
		}
	}
	c[0] *= 2
	c[m] *= 2
	d := make([][]float64, m+1)
	for i := range d {
		d[i] = make([]float64, m+1)
		for j := range d[i] {
			if i != j {
				d[i][j] = c[i] / c[j] / (x[i] - x[j])
				d[i][i] -= d[i][j]
			}
		}
	}
	return d
}
