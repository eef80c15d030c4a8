# Every library comes from the distribution's packages; `make deps` installs them.
find_package(fmt 9 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)   # SHA-256
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)                  # Multiprecision: exact answers in rewards
find_package(ZLIB REQUIRED)                        # parquet pages
find_package(Snappy REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)   # minirl serve
