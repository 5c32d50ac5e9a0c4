module example.com/training

go 1.26.0

require github.com/goroce/goroce v0.0.0

require google.golang.org/protobuf v1.36.12 // indirect

// goroce is not published yet: link the checkout.
replace github.com/goroce/goroce => ../..
