module example.com/incast

go 1.26.0

require github.com/goroce/goroce v0.0.0

// goroce is not published yet: link the checkout.
replace github.com/goroce/goroce => ../..
