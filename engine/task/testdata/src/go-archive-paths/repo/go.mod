module example.invalid/bundle

go 1.19
