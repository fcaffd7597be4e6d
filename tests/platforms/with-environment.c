/* with-environment.exe NAME=VALUE ... -- PROGRAM ARGUMENTS: starts a program with these variables, and ends as it does.
 * Wine sets USERPROFILE, APPDATA, PATH and others by itself, whatever the environment of its own process says.
 * If this process is killed, the program is killed, too. */
#include <stdio.h>
#include <wchar.h>
#include <windows.h>

int wmain(int count, wchar_t **arguments) {
    wchar_t *rest = wcsstr(GetCommandLineW(), L" -- ");
    if (rest == NULL) {
        fputs("with-environment: no program is named after `--`\n", stderr);
        return 125;
    }
    for (int at = 1; at < count && wcscmp(arguments[at], L"--") != 0; at++) {
        wchar_t *value = wcschr(arguments[at], L'=');
        if (value == NULL) {
            fprintf(stderr, "with-environment: argument %d is not NAME=VALUE\n", at);
            return 125;
        }
        *value++ = 0;
        SetEnvironmentVariableW(arguments[at], value);
    }
    HANDLE job = CreateJobObjectW(NULL, NULL);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION terms = {0};
    terms.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &terms, sizeof terms);
    STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    PROCESS_INFORMATION process;
    if (!CreateProcessW(NULL, rest + 4, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &start, &process)) {
        fprintf(stderr, "with-environment: the program cannot be started: error %lu\n", GetLastError());
        return 127;
    }
    AssignProcessToJobObject(job, process.hProcess);
    ResumeThread(process.hThread);
    /* Only the program holds its pipes now, so that they close when it ends or closes them. */
    CloseHandle(start.hStdInput);
    CloseHandle(start.hStdOutput);
    CloseHandle(start.hStdError);
    WaitForSingleObject(process.hProcess, INFINITE);
    DWORD code = 1;
    GetExitCodeProcess(process.hProcess, &code);
    ExitProcess(code);
}
