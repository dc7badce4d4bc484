module casement.dev/lab/gap

go 1.26.0
