module example.invalid/again

go 1.19
