/* bcryptprimitives.dll for Wine before 9.0, which lacks it. Rust's standard library takes random numbers from
 * ProcessPrng (library/std/src/sys/random/windows.rs). Microsoft documents it in "The Windows 10 random number
 * generation infrastructure": it always succeeds. RtlGenRandom has the export name SystemFunction036. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    while (length > 0) {
        ULONG part = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!SystemFunction036(data, part)) {
            return FALSE;
        }
        data += part;
        length -= part;
    }
    return TRUE;
}
