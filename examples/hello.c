/* The markers in a few lines: an event "greeting" with one stage, which begins at its marker and lasts to the end of
 * the run; what comes before belongs to no stage. Settings for it:
 *   <event name="greeting" threshold="50ms" trace-length="2s">
 *     <library binary="/path/to/hello"><stage name="polite"/></library></event> */
#include <lagtrap.h>
#include <stdio.h>

int main(void) {
    char name[64];
    printf("Your name, please (nothing to stop): ");
    while (fgets(name, sizeof name, stdin) != NULL && name[0] != '\n') {
        LAGTRAP_BEGIN("greeting");
        printf("Hello, ");
        LAGTRAP_STAGE("greeting", "polite");
        printf("%sYour name, please (nothing to stop): ", name);
        fflush(stdout);
        LAGTRAP_END("greeting");
    }
    return 0;
}
