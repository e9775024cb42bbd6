#pragma once
#include "../../../evo/torch.h"
#include "../../../evo/numeric.h"
