module plugin

go 1.24
